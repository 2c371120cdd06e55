#include "storage/background/load_places.h"

#include <algorithm>

#include "storage/contents/record_store_state.h"

namespace storage {

namespace {

// The stored counts may be seconds older than a crash. The collection's own counts are exact; the records that they count in
// addition were written since then, and are stored whole.
StoreCounts counts_at_start(const Collection& collection, StoreCounts stored) {
  const int64_t written_since = collection.stored_bytes() - stored.logical_bytes;
  stored.records = collection.stored_records();
  stored.logical_bytes += written_since;
  stored.raw_bytes += written_since;
  return stored;
}

}  // namespace

void load_places(const Catalog& catalog, const DedupState& state, TrackedCollections& tracked, RecountTask& recount) {
  const bool crashed = state.begin_run();
  for (const auto& database : catalog.databases()) {
    for (const auto& collection : catalog.collections(database)) {
      if (collection->read_only()) continue;
      const auto stored = state.collection(collection->id());
      auto& records = collection->records().state();
      records.chains.counters().add(counts_at_start(*collection, stored ? stored->counts : StoreCounts{}));
      const RecordId looked_at = tracked.add_stored(collection, stored);
      // If the last records were lost, their ids are not given to others.
      records.next_id = std::max(records.next_id.load(), looked_at + 1);
      // After a crash the updates have to be looked at again that came since the last saved moment at which all updates had been
      // looked at.
      if (stored) records.miss(crashed ? std::min(stored->seen, stored->missed_from) : stored->missed_from);
      if (crashed) recount.add(collection->id());
      if (collection->options().dedup.enabled && records.next_id.load() - 1 > looked_at) records.fall_behind(looked_at + 1);
    }
  }
}

}  // namespace storage
