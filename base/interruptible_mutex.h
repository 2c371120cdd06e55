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
class CAPABILITY("interruptible mutex") InterruptibleMutex {
 public:
  void lock() ACQUIRE() { lock(nullptr); }
  void lock(const Interrupted& interrupted) ACQUIRE();
  [[nodiscard]] bool try_lock() TRY_ACQUIRE(true);
  void unlock() RELEASE();

  void lock_shared() ACQUIRE_SHARED() { lock_shared(nullptr); }
  void lock_shared(const Interrupted& interrupted) ACQUIRE_SHARED();
  // Returns false also while another thread waits for it exclusively.
  [[nodiscard]] bool try_lock_shared() TRY_ACQUIRE_SHARED(true);
  void unlock_shared() RELEASE_SHARED();

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

// Holds the mutex exclusively while it lives. The compiler checks that fields which the mutex guards are touched under it.
class SCOPED_CAPABILITY InterruptibleLock {
 public:
  InterruptibleLock(InterruptibleMutex& mutex, const Interrupted& interrupted) ACQUIRE(mutex) : mutex_(mutex) {
    mutex_.lock(interrupted);
  }
  ~InterruptibleLock() RELEASE() { mutex_.unlock(); }
  InterruptibleLock(const InterruptibleLock&) = delete;
  InterruptibleLock& operator=(const InterruptibleLock&) = delete;

 private:
  InterruptibleMutex& mutex_;
};

// The compiler's analysis doesn't follow these holds. They move: a function returns one to its caller, an operation or a
// transaction keeps one for as long as it runs, and several are kept in a vector. Most of these mutexes guard no field, but what
// is stored, such as a collection's indexes or the documents that drafts have seen.
using ExclusiveHold = std::unique_lock<InterruptibleMutex>;
using SharedHold = std::shared_lock<InterruptibleMutex>;

[[nodiscard]] ExclusiveHold hold_exclusively(InterruptibleMutex& mutex, const Interrupted& interrupted);
[[nodiscard]] SharedHold hold_shared(InterruptibleMutex& mutex, const Interrupted& interrupted);
// Takes all of them, in no order: while it waits for one, it holds none.
[[nodiscard]] std::vector<ExclusiveHold> hold_exclusively(std::span<InterruptibleMutex* const> mutexes,
                                                          const Interrupted& interrupted);

}  // namespace base
