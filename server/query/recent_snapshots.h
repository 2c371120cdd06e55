// Storage snapshots from which reads were answered are kept for a while: all reads of a client's snapshot session show the moment
// of the first.
#pragma once

#include <map>
#include <memory>

#include "base/mutex.h"
#include "storage/engine/record_id.h"

namespace storage {
class Store;
struct Snapshot;
}  // namespace storage

namespace server::query {

// This class is thread-safe. It must be empty before the engine closes.
class RecentSnapshots {
 public:
  static constexpr int64_t kept_ms = 300'000;  // as mongod's minSnapshotHistoryWindowInSeconds
  static constexpr size_t kept_max = 300;

  // Returns the newest moment, which is kept from now on.
  std::shared_ptr<const storage::Snapshot> newest(storage::Store& store, int64_t now_ms);
  // Returns the snapshot that was given out with this timestamp; nullptr: it isn't kept any more, or never was.
  std::shared_ptr<const storage::Snapshot> find(storage::Stamp stamp) const;
  void expire(int64_t now_ms);

 private:
  struct Kept {
    std::shared_ptr<const storage::Snapshot> snapshot;
    int64_t since_ms;
  };
  mutable base::Mutex mutex_;
  std::map<storage::Stamp, Kept> kept_ GUARDED_BY(mutex_);
};

}  // namespace server::query
