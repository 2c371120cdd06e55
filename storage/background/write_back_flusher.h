// Turns backward deltas into stored ones, several to a transaction.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "storage/contents/chain_store.h"

namespace storage {

struct WriteBackFigures {
  uint64_t written = 0;
  uint64_t stale = 0;  // a content had changed meanwhile
  uint64_t no_gain = 0;
  uint64_t conflicts = 0;  // somebody else was writing the record: given up
  uint64_t wrong = 0;      // did not give the content back: never written
  uint64_t saved_bytes = 0;
};

// Where the contents of a collection lie; nullptr: dropped. A collection dropped later is kept while it is asked to.
using ChainStoreOf = std::function<std::shared_ptr<ChainStore>(CollectionId)>;

// All in one transaction; where that meets a conflict, one by one, and what
// still conflicts is given up. Throws nothing but what says that the disk or
// the engine is beyond writing.
void flush_write_backs(Engine& engine, const std::vector<dedup::Backward>& batch, const ChainStoreOf& store_of,
                       WriteBackFigures& figures);

}  // namespace storage
