// KeptContents reads contents that stay for snapshots after they were overwritten or removed (RecordStore::update, remove).
#pragma once

#include "storage/contents/content_reader.h"
#include "storage/contents/record_store.h"

namespace storage {

class ChainStore;

// An object lives within its transaction and isn't thread-safe. Callers that read many contents should use one object for all:
// the next content often lies right behind the last one.
class KeptContents {
 public:
  KeptContents(RecordStore& store, Transaction& transaction);

  // Several contents left the record's row together and are in its own chain; `oldest` names the oldest of them. This call
  // reads the newest one with a generation up to `newest` into a buffer that it reuses. It returns false when there is none,
  // and adds to `info`.
  bool find_newest(RecordId id, Stamp oldest, Stamp newest, Bytes& content, ReadInfo* info = nullptr);
  // Returns only its generation; 0: there is none.
  Stamp newest(RecordId id, Stamp oldest, Stamp newest);
  // Finds a content by the chain that it is in. Returns nullopt when it isn't there or was released. Throws
  // DataCorruptionDetected. Adds to `info`.
  std::optional<Bytes> find(RecordId id, Stamp generation, RecordId chain, ReadInfo* info = nullptr);

 private:
  const ChainStore& chains_;
  ContentReader reader_;
};

}  // namespace storage
