#include "server/query/recent_snapshots.h"

#include "storage/engine/transaction.h"
#include "storage/store.h"

namespace server::query {

std::shared_ptr<const storage::Snapshot> RecentSnapshots::newest(storage::Store& store, int64_t now_ms) {
  std::shared_ptr<const storage::Snapshot> snapshot = store.engine().keep_snapshot();
  const base::MutexLock lock(mutex_);
  // If two snapshots have one timestamp, the first stays, because it has been read from.
  snapshot = kept_.try_emplace(snapshot->stamp, Kept{snapshot, now_ms}).first->second.snapshot;
  if (kept_.size() > kept_max) kept_.erase(kept_.begin());
  return snapshot;
}

std::shared_ptr<const storage::Snapshot> RecentSnapshots::find(storage::Stamp stamp) const {
  const base::MutexLock lock(mutex_);
  const auto at = kept_.find(stamp);
  return at == kept_.end() ? nullptr : at->second.snapshot;
}

void RecentSnapshots::expire(int64_t now_ms) {
  const base::MutexLock lock(mutex_);
  std::erase_if(kept_, [now_ms](const auto& one) { return now_ms - one.second.since_ms > kept_ms; });
}

}  // namespace server::query
