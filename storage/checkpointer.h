// Checkpoints by their own thread: every so many seconds, and sooner when much
// was written, so that the journal a restart has to replay stays short.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/counters.h"
#include "storage/disk_space.h"
#include "storage/wt.h"

namespace storage {

// Thread-safe.
class Checkpointer {
 public:
  Checkpointer(wt::Connection& connection, DiskSpace& space, int seconds);
  ~Checkpointer() { stop(); }

  // Takes one now; throws what hinders it.
  void checkpoint();
  void stop();

  int64_t count() const { return count_.get(); }
  int64_t last_ms() const { return last_ms_.get(); }

 private:
  void run(int seconds);

  static constexpr uint64_t written_bytes_max = 1ull << 30;

  wt::Connection& connection_;
  DiskSpace& space_;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool stopping_ = false;
  base::Counter count_;
  base::Counter last_ms_;
  std::thread thread_;
};

}  // namespace storage
