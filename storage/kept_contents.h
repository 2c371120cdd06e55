// Contents that stay for the past after they were overwritten or removed (RecordStore::update, remove).
#pragma once

#include "storage/content_reader.h"
#include "storage/record_store.h"

namespace storage {

class ChainStore;

// Lives within its transaction; not thread-safe. Who reads many reads them by one: what comes next often lies right behind what
// came before.
class KeptContents {
 public:
  KeptContents(RecordStore& store, Transaction& transaction);

  // By the chain that it is in; nullopt: it isn't there, or was released. Throws DataCorruptionDetected. Adds to `info`.
  std::optional<Bytes> find(RecordId id, Stamp generation, RecordId chain, ReadInfo* info = nullptr);

 private:
  const ChainStore& chains_;
  ContentReader reader_;
};

}  // namespace storage
