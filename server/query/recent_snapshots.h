// Snapshots that reads were answered from, kept for a while: a client's snapshot session reads all it reads as of its first.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "storage/engine/record_id.h"

namespace storage {
class Store;
struct Snapshot;
}  // namespace storage

namespace server::query {

// Thread-safe. Empty before the engine closes.
class RecentSnapshots {
 public:
  static constexpr int64_t kept_ms = 300'000;  // as mongod's minSnapshotHistoryWindowInSeconds
  static constexpr size_t kept_max = 300;

  // The newest moment, kept from now on.
  std::shared_ptr<const storage::Snapshot> newest(storage::Store& store, int64_t now_ms);
  // The one that was handed out with this stamp; nullptr: not kept any more, or never handed out.
  std::shared_ptr<const storage::Snapshot> find(storage::Stamp stamp) const;
  void expire(int64_t now_ms);

 private:
  struct Kept {
    std::shared_ptr<const storage::Snapshot> snapshot;
    int64_t since_ms;
  };
  mutable std::mutex mutex_;
  std::map<storage::Stamp, Kept> kept_;
};

}  // namespace server::query
