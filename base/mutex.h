// These are the standard library's mutexes and condition variables, with annotations (base/thread_safety.h): the compiler checks
// that a field is touched only by a thread that holds the mutex guarding it.
//
//   void Queue::put(Item item) {
//     {
//       const base::MutexLock lock(mutex_);
//       items_.push_back(std::move(item));
//     }
//     filled_.notify_one();
//   }
//   Item Queue::take() {
//     base::MutexLock lock(mutex_);
//     while (items_.empty()) filled_.wait(lock);
//     ...
//   }
//
// They cost what std::mutex, std::unique_lock and std::condition_variable cost. A lock that moves between functions stays a
// std::unique_lock over a std::mutex: the analysis can't follow it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "base/thread_safety.h"

namespace base {

class CAPABILITY("mutex") Mutex {
 public:
  void lock() ACQUIRE() { mutex_.lock(); }
  void unlock() RELEASE() { mutex_.unlock(); }
  [[nodiscard]] bool try_lock() TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

// Holds the mutex while it lives. It may let go and take it again in between.
class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : held_(mutex.mutex_) {}
  ~MutexLock() RELEASE() {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() ACQUIRE() { held_.lock(); }
  void unlock() RELEASE() { held_.unlock(); }

 private:
  friend class Condition;
  std::unique_lock<std::mutex> held_;
};

// Lets go of a mutex while it lives, in a function that was called with it (REQUIRES), and takes it again then.
class SCOPED_CAPABILITY MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) RELEASE(mutex) : mutex_(mutex) { mutex_.unlock(); }
  ~MutexUnlock() RELEASE() { mutex_.lock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex& mutex_;
};

// Holds two mutexes. Threads that name them in different orders don't wait for each other forever.
class SCOPED_CAPABILITY TwoMutexLock {
 public:
  TwoMutexLock(Mutex& a, Mutex& b) ACQUIRE(a, b) : held_(a, b) {}
  ~TwoMutexLock() RELEASE() {}
  TwoMutexLock(const TwoMutexLock&) = delete;
  TwoMutexLock& operator=(const TwoMutexLock&) = delete;

 private:
  std::scoped_lock<Mutex, Mutex> held_;
};

// This is a condition variable. `lock` holds the mutex at the call and at the return, and not in between. A predicate that reads
// guarded fields is a lambda with REQUIRES; the waits call it with the mutex held.
class Condition {
 public:
  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

  void wait(MutexLock& lock) { condition_.wait(lock.held_); }
  template <class Predicate>
  void wait(MutexLock& lock, Predicate predicate) {
    condition_.wait(lock.held_, std::move(predicate));
  }

  // Returns false if the time passed; with a predicate, returns its last value.
  template <class Rep, class Period>
  bool wait_for(MutexLock& lock, const std::chrono::duration<Rep, Period>& time) {
    return condition_.wait_for(lock.held_, time) == std::cv_status::no_timeout;
  }
  template <class Rep, class Period, class Predicate>
  bool wait_for(MutexLock& lock, const std::chrono::duration<Rep, Period>& time, Predicate predicate) {
    return condition_.wait_for(lock.held_, time, std::move(predicate));
  }
  template <class Clock, class Duration>
  bool wait_until(MutexLock& lock, const std::chrono::time_point<Clock, Duration>& time) {
    return condition_.wait_until(lock.held_, time) == std::cv_status::no_timeout;
  }
  template <class Clock, class Duration, class Predicate>
  bool wait_until(MutexLock& lock, const std::chrono::time_point<Clock, Duration>& time, Predicate predicate) {
    return condition_.wait_until(lock.held_, time, std::move(predicate));
  }

 private:
  std::condition_variable condition_;
};

// Any number of readers, or one writer.
class CAPABILITY("shared mutex") SharedMutex {
 public:
  void lock() ACQUIRE() { mutex_.lock(); }
  void unlock() RELEASE() { mutex_.unlock(); }
  [[nodiscard]] bool try_lock() TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void lock_shared() ACQUIRE_SHARED() { mutex_.lock_shared(); }
  void unlock_shared() RELEASE_SHARED() { mutex_.unlock_shared(); }
  [[nodiscard]] bool try_lock_shared() TRY_ACQUIRE_SHARED(true) { return mutex_.try_lock_shared(); }

 private:
  std::shared_mutex mutex_;
};

class SCOPED_CAPABILITY WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~WriterLock() RELEASE() { mutex_.unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mutex_;
};

class SCOPED_CAPABILITY ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) ACQUIRE_SHARED(mutex) : mutex_(mutex) { mutex_.lock_shared(); }
  ~ReaderLock() RELEASE() { mutex_.unlock_shared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mutex_;
};

}  // namespace base
