// spin_lock takes a lock that other threads hold for microseconds only.
//
//   std::unique_lock lock = base::spin_lock(mutex);
#pragma once

#include <mutex>

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
template <class Mutex>
std::unique_lock<Mutex> try_spin_lock(Mutex& mutex) {
  constexpr int tries = 200;
  std::unique_lock<Mutex> lock(mutex, std::try_to_lock);
  for (int i = 0; i < tries && !lock; ++i) {
    relax();
    (void)lock.try_lock();
  }
  return lock;
}

// Tries as above, and then sleeps until the lock is free.
inline std::unique_lock<std::mutex> spin_lock(std::mutex& mutex) {
  auto lock = try_spin_lock(mutex);
  if (!lock) lock.lock();
  return lock;
}

}  // namespace base
