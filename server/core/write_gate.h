// Every operation that writes passes a gate. fsync with `lock: true` closes it, so that a snapshot of the file system has a
// moment at which nobody writes; fsyncUnlock opens it again. Checkpoints and background work go on.
//
//   write ──> gate ──> runs to its end
//             │ closed: it waits here, before it holds anything else
#pragma once

#include <memory>

#include "base/interruptible_mutex.h"

namespace storage {
class Backup;
class Engine;
}  // namespace storage

namespace server {

// This class is thread-safe.
class WriteGate {
 public:
  explicit WriteGate(storage::Engine& engine);
  ~WriteGate();

  // A write keeps the result until its end. Waits while the gate is closed, and throws what `interrupted` throws.
  base::SharedHold pass(const base::Interrupted& interrupted) { return base::hold_shared(passing_, interrupted); }
  // Returns an empty hold while the gate is closed: for writes that can be left out, or made later.
  base::SharedHold try_pass() { return base::SharedHold(passing_, std::try_to_lock); }

  // Closes the gate once the writes that have passed are at their end, and writes everything to the data files. Returns how
  // often the gate is closed: it opens when each close() has had its open(). Throws Backup::already_open while a backup is open,
  // and what `interrupted` throws: then the gate is as it was.
  int64_t close(const base::Interrupted& interrupted);
  // Returns how often it is still closed; -1 if it wasn't closed.
  int64_t open(const base::Interrupted& interrupted);
  bool closed() const { return closed_.load(std::memory_order_relaxed) > 0; }

 private:
  storage::Engine& engine_;
  base::InterruptibleMutex passing_;                // Writes hold it shared. A closed gate holds it exclusively.
  base::InterruptibleMutex changing_;               // held exclusively by close() and open(), which change what follows
  base::ExclusiveHold hold_ GUARDED_BY(changing_);  // of passing_, from the first close() to the last open()
  std::unique_ptr<storage::Backup> files_ GUARDED_BY(changing_);  // no other backup begins meanwhile
  std::atomic<int64_t> closed_{0};                                // other threads read it at any time
};

}  // namespace server
