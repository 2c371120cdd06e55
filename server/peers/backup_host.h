// The backup host lends a backup to another member that copies this one's data.
//
// WiredTiger has room for one backup at a time, and an open one costs disk space.
// So there is one backup, it has a number, and it ends by itself when nobody has
// read from it for a while.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "storage/upkeep/backup.h"

namespace storage {
class Store;
}

namespace server::peers {

// This class is thread-safe. It must be destroyed before the engine.
class BackupHost {
 public:
  static constexpr int64_t idle_ms_max = 3 * 60 * 1000;
  // A copying member acts on these errors: it tries another member, or this one later …
  static constexpr int32_t busy = 314;  // ObjectIsBusy
  // … or begins anew: the backup no longer exists.
  static constexpr int32_t gone = 43;  // CursorNotFound

  BackupHost(storage::Store& store, const base::Clock& clock) : store_(store), clock_(clock) {}

  struct Lent {
    int64_t id = 0;
    std::shared_ptr<const storage::Backup> backup;
  };
  // Takes a checkpoint, then opens a backup. `asker` is the member that wants it, "host:port"; one that asks again gets a new
  // backup instead of its old one. Throws OperationError: `busy` while another member has it.
  Lent begin(const std::string& asker);
  // Returns the backup for a moment's reading. Throws OperationError: `gone`.
  std::shared_ptr<const storage::Backup> use(int64_t id);
  void end(int64_t id);  // does nothing if there is none of that id
  // Ends a backup that nobody has used lately. Call it now and then.
  void expire();

 private:
  storage::Store& store_;
  const base::Clock& clock_;
  base::Mutex mutex_;
  bool opening_ GUARDED_BY(mutex_) = false;
  Lent lent_ GUARDED_BY(mutex_);
  std::string asker_ GUARDED_BY(mutex_);
  int64_t used_us_ GUARDED_BY(mutex_) = 0;
};

}  // namespace server::peers
