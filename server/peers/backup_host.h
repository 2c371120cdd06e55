// The backup this member lends to another one that copies its data.
//
// WiredTiger has room for one backup at a time, and an open one costs disk
// space: so there is one, it has a number, and it ends by itself when nobody has
// read from it for a while.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "storage/upkeep/backup.h"

namespace storage {
class Store;
}

namespace server::peers {

// Thread-safe. Must be gone before the engine.
class BackupHost {
 public:
  static constexpr int64_t idle_ms_max = 3 * 60 * 1000;
  // Errors a copying member acts on: try another member, or this one later …
  static constexpr int32_t busy = 314;  // ObjectIsBusy
  // … or begin anew: the backup is no longer there.
  static constexpr int32_t gone = 43;  // CursorNotFound

  BackupHost(storage::Store& store, const base::Clock& clock) : store_(store), clock_(clock) {}

  struct Lent {
    int64_t id = 0;
    std::shared_ptr<const storage::Backup> backup;
  };
  // Takes a checkpoint first. `asker`: who it is for, "host:port"; one that asks again gets a new backup for its old one.
  // Throws OperationError: `busy` while another member has it.
  Lent begin(const std::string& asker);
  // To read from, for a moment. Throws OperationError: `gone`.
  std::shared_ptr<const storage::Backup> use(int64_t id);
  void end(int64_t id);  // of one that isn't there: nothing
  // Ends the one that nobody has used lately. Called now and then.
  void expire();

 private:
  storage::Store& store_;
  const base::Clock& clock_;
  std::mutex mutex_;
  bool opening_ = false;
  Lent lent_;
  std::string asker_;
  int64_t used_us_ = 0;
};

}  // namespace server::peers
