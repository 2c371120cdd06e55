// Contents that stay for the past after they were overwritten or removed (RecordStore::update, remove).
#pragma once

#include "storage/contents/content_reader.h"
#include "storage/contents/record_store.h"

namespace storage {

class ChainStore;

// Lives within its transaction; not thread-safe. Who reads many reads them by one: what comes next often lies right behind what
// came before.
class KeptContents {
 public:
  KeptContents(RecordStore& store, Transaction& transaction);

  // Of what left the record's row together, `oldest` being the oldest of it, and is in its own chain: the newest of generation
  // `newest` or before, into a buffer that is used again. false: there is none. Adds to `info`.
  bool find_newest(RecordId id, Stamp oldest, Stamp newest, Bytes& content, ReadInfo* info = nullptr);
  // Its generation alone; 0: there is none.
  Stamp newest(RecordId id, Stamp oldest, Stamp newest);
  // By the chain that it is in; nullopt: it isn't there, or was released. Throws DataCorruptionDetected. Adds to `info`.
  std::optional<Bytes> find(RecordId id, Stamp generation, RecordId chain, ReadInfo* info = nullptr);

 private:
  const ChainStore& chains_;
  ContentReader reader_;
};

}  // namespace storage
