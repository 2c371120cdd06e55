// The scheduler is the background's thread: it runs a list of tasks and knows nothing of what they do.
//
// In a round each task of the list gets a step, the most urgent first, until one of them has done something; then the next round
// begins at the front of the list. While clients write and somebody else wants the CPU, the thread uses only a small part of it
// (background_pace.h), and it lets a burst of writes pass (write_burst.h). When no task had anything to do, the thread naps: the
// longer there was nothing to do, the longer. A client's write wakes it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "storage/background/background_pace.h"
#include "storage/background/task.h"
#include "storage/engine/drafts.h"

namespace storage {

// This class is thread-safe.
class Scheduler {
 public:
  Scheduler(base::Clock& clock, std::string thread_name);
  ~Scheduler() { stop(); }
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // The tasks must live until `stop` has returned. A scheduler is started once. `has_room` tells whether the disk has room for
  // background work; without it there always is.
  // `drafts`: steps that move contents are alone with respect to them; nullptr: there are none.
  void start(std::vector<Task*> most_urgent_first, std::function<bool()> has_room = {}, Drafts* drafts = nullptr);
  // This function lets the current step end and the tasks finish. It returns true when it is the call that ended the thread.
  bool stop();
  bool running() const;   // The thread was started, and `stop` wasn't called.
  bool stopping() const;  // A long step asks this now and then, and ends early.

  bool has_room() const;  // Without room on the disk only some tasks get a turn (Task::needs_room).

  // A client calls `client_wrote` when it has written, and `wake` after it has left something for a task. Neither takes a lock.
  void client_wrote() { last_client_us_.store(clock_.monotonic_us(), std::memory_order_relaxed); }
  void wake();
  // This function ends a nap or a rest at once. A client calls it when it has begun to wait for a task (`Task::awaited`).
  void call();

  // This function waits until a whole round found nothing to do. The tasks see it as `Round::draining`, and with `tidy` as
  // `Round::tidying`.
  void drain(bool tidy);

  // No task does anything while the lock is held. The caller must not call `drain` meanwhile.
  std::unique_lock<std::mutex> hold();
  // A thread waits in `hold`, or for its draft to begin; a long step asks this too.
  bool hold_awaited() const { return holders_ > 0 || (drafts_ && drafts_->awaited()); }

  uint64_t cpu_micros() const { return cpu_micros_; }        // This is the CPU time of the thread.
  uint64_t rested_micros() const { return rested_micros_; }  // The thread rested for this long because others wanted the CPU.

  // A nap lasts so long after there was nothing to do for this time.
  static std::chrono::microseconds nap_after(std::chrono::microseconds idle);

 private:
  void run();
  bool step();
  bool step_of(Task& task, const Round& now);
  Round round() const;
  void rest();
  void nap(base::MutexLock& lock, std::chrono::microseconds least) REQUIRES(mutex_);
  bool called() const REQUIRES(mutex_);
  int64_t last_client_us() const { return last_client_us_.load(std::memory_order_relaxed); }
  WriteBurst::Waiting waiting() const;

  base::Clock& clock_;
  const std::string thread_name_;
  std::vector<Task*> tasks_;  // These two are set before the thread begins.
  std::function<bool()> has_room_;
  Drafts* drafts_ = nullptr;
  int64_t drafts_awaited_us_ = 0;  // the thread waited in vain for drafts to end
  std::atomic<int64_t> last_client_us_{0};
  std::atomic<bool> napping_{false};
  std::atomic<uint64_t> cpu_micros_{0}, rested_micros_{0};

  mutable base::Mutex mutex_;
  base::Condition woken_;
  base::Condition idle_;  // It is notified after a round without work.
  std::thread thread_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  int draining_ GUARDED_BY(mutex_) = 0;
  int tidying_ GUARDED_BY(mutex_) = 0;
  uint64_t idle_rounds_ GUARDED_BY(mutex_) = 0;  // This counts the rounds in which there was nothing at all to do.

  // The thread holds this mutex while a task works. It is a standard one, since hold() gives its lock away, and what it
  // guards is no field, but what tasks do to the tables.
  std::mutex working_;
  std::atomic<int> holders_{0};  // These threads wait for `working_`.

  // Only the scheduler's thread uses these.
  int64_t worked_us_ = 0;  // A task last had something to do at this time.
  BackgroundPace pace_;
  WriteBurst burst_;
};

}  // namespace storage
