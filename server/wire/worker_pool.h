// Threads for commands that may block, so that connections never do.
//
// A few threads are always there. When all are busy and work has waited a
// moment, one more is added, up to a limit: a handful of slow operations then
// cannot starve the quick ones, and a burst of quick ones does not make
// threads. Extra threads leave after being idle for a while.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace server::wire {

class WorkerPool {
 public:
  struct Size {
    int threads_min = 8;
    int threads_max = 256;
  };
  explicit WorkerPool(const Size& size);
  ~WorkerPool();  // runs what was submitted, then ends
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // `work` must not throw.
  void submit(std::function<void()> work);

  int threads() const;
  size_t queued() const;

 private:
  void add_thread(bool extra);  // mutex_ held
  void work_on(bool extra);
  void supervise();

  const Size size_;
  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable supervision_;
  std::condition_variable gone_;
  std::deque<std::function<void()>> queue_;
  uint64_t taken_ = 0;  // pieces of work begun, for the supervisor to see progress
  int threads_ = 0;
  int idle_ = 0;
  bool stopping_ = false;
  std::thread supervisor_;
};

}  // namespace server::wire
