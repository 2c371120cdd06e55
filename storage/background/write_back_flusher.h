// The flusher writes backward deltas from the write-back cache to the chain tables, several in one transaction.
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
  uint64_t conflicts = 0;  // somebody else was writing the record, so the write-back was given up
  uint64_t wrong = 0;      // the delta didn't decode to the content, so it was not written
  uint64_t saved_bytes = 0;
};

// This function returns the chain store of a collection, or nullptr when the collection was dropped. The caller keeps the
// collection alive while it uses the store, even if it is dropped meanwhile.
using ChainStoreOf = std::function<std::shared_ptr<ChainStore>(CollectionId)>;

// This function writes the batch in one transaction. If that meets a conflict, it writes the deltas one by one and gives up those
// that still conflict. It throws only when the disk or the engine can't write any more.
void flush_write_backs(Engine& engine, const std::vector<dedup::Backward>& batch, const ChainStoreOf& store_of,
                       WriteBackFigures& figures);

}  // namespace storage
