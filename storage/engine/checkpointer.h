// Checkpoints by their own thread: every so many seconds, and sooner when much
// was written, so that the journal a restart has to replay stays short.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "base/counters.h"
#include "storage/engine/disk_space.h"
#include "storage/engine/wt.h"

namespace storage {

// Thread-safe.
class Checkpointer {
 public:
  // `around` is given the taking of each checkpoint, to call it between what belongs before and after.
  using Around = std::function<void(const std::function<void()>& take)>;
  Checkpointer(wt::Connection& connection, DiskSpace& space, int seconds, Around around);
  ~Checkpointer() { stop(); }

  // Takes one now; throws what hinders it.
  void checkpoint();
  // As long as it is held no checkpoint is being taken; waits for one that is. For who changes many rows in the background:
  // what is overwritten below a checkpoint the engine copies to its history file, whose space isn't given back.
  std::shared_lock<std::shared_mutex> between_checkpoints() { return std::shared_lock(taking_); }
  void stop();

  int64_t count() const { return count_.get(); }
  int64_t last_ms() const { return last_ms_.get(); }

 private:
  void take();
  void run(int seconds);

  static constexpr uint64_t written_bytes_max = 1ull << 30;

  wt::Connection& connection_;
  DiskSpace& space_;
  const Around around_;
  std::shared_mutex taking_;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool stopping_ = false;
  base::Counter count_;
  base::Counter last_ms_;
  std::thread thread_;
};

}  // namespace storage
