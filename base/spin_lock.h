// A SpinLock takes a mutex that other threads hold for microseconds only.
//
//   const base::SpinLock lock(mutex_);
#pragma once

#include <mutex>

#include "base/mutex.h"

namespace base {

// Tells the processor that this thread waits for another's write.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Tries for some microseconds: sleeping and being woken would take longer than the lock is held.
template <class AnyMutex>
std::unique_lock<AnyMutex> try_spin_lock(AnyMutex& mutex) {
  constexpr int tries = 200;
  std::unique_lock<AnyMutex> lock(mutex, std::try_to_lock);
  for (int i = 0; i < tries && !lock; ++i) {
    relax();
    (void)lock.try_lock();
  }
  return lock;
}

// Holds the mutex while it lives. Tries as above, and then sleeps until the mutex is free.
class SCOPED_CAPABILITY SpinLock {
 public:
  explicit SpinLock(Mutex& mutex) ACQUIRE(mutex) : held_(try_spin_lock(mutex)) {
    if (!held_) held_.lock();
  }
  ~SpinLock() RELEASE() {}
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

 private:
  std::unique_lock<Mutex> held_;
};

}  // namespace base
