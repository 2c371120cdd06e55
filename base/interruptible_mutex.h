// An InterruptibleMutex is a shared mutex whose waits end when the waiting thread is interrupted.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <vector>

#include "base/mutex.h"

namespace base {

// A thread that waits calls this every 20 ms or so; if it throws, the wait ends and nothing is locked. An empty one: it waits
// as long as it takes.
using Interrupted = std::function<void()>;

// Any number of threads hold it shared, or one holds it exclusively. Taking it shared costs one atomic operation while nobody
// waits.
//
// Threads that want it shared give way to one that waits for it exclusively, so that steady readers don't keep it out. They do
// so for 10 ms: a thread that holds the mutex shared may take it once more, and would otherwise wait for itself.
//
// It fits std::unique_lock and std::shared_lock. The calls without `interrupted` wait without end.
class InterruptibleMutex {
 public:
  void lock() { lock(nullptr); }
  void lock(const Interrupted& interrupted);
  [[nodiscard]] bool try_lock();
  void unlock();

  void lock_shared() { lock_shared(nullptr); }
  void lock_shared(const Interrupted& interrupted);
  // Returns false also while another thread waits for it exclusively.
  [[nodiscard]] bool try_lock_shared();
  void unlock_shared();

 private:
  static constexpr int exclusively = -1;

  bool take_shared();
  void wake();

  std::atomic<int> holders_{0};  // how many hold it shared; or `exclusively`
  std::atomic<int> waiting_{0};
  std::atomic<int> waiting_exclusively_{0};
  Mutex mutex_;  // Threads sleep under it. Whoever makes a wait end takes it before notifying.
  Condition changed_;
};

using ExclusiveHold = std::unique_lock<InterruptibleMutex>;
using SharedHold = std::shared_lock<InterruptibleMutex>;

[[nodiscard]] ExclusiveHold hold_exclusively(InterruptibleMutex& mutex, const Interrupted& interrupted);
[[nodiscard]] SharedHold hold_shared(InterruptibleMutex& mutex, const Interrupted& interrupted);
// Takes all of them, in no order: while it waits for one, it holds none.
[[nodiscard]] std::vector<ExclusiveHold> hold_exclusively(std::span<InterruptibleMutex* const> mutexes,
                                                          const Interrupted& interrupted);

}  // namespace base
