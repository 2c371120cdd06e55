#include "base/interruptible_mutex.h"

#include <chrono>

namespace base {
namespace {

constexpr std::chrono::milliseconds between_questions{20}, giving_way{10};

class Counted {
 public:
  explicit Counted(std::atomic<int>& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::atomic<int>& count_;
};

void ask(Mutex& mutex, const Interrupted& interrupted) REQUIRES(mutex) {
  if (!interrupted) return;
  const MutexUnlock open(mutex);
  interrupted();
}

}  // namespace

bool InterruptibleMutex::try_lock() {
  int free = 0;
  return holders_.compare_exchange_strong(free, exclusively);
}

bool InterruptibleMutex::take_shared() {
  for (int holders = holders_; holders != exclusively;) {
    if (holders_.compare_exchange_weak(holders, holders + 1)) return true;
  }
  return false;
}

bool InterruptibleMutex::try_lock_shared() {
  return waiting_exclusively_ == 0 && take_shared();
}

// A waiter counts itself before it looks at holders_; a holder that lets go changes holders_ before it looks for waiters. So one
// of them sees the other.
void InterruptibleMutex::wake() {
  if (waiting_ == 0) return;
  { const MutexLock lock(mutex_); }
  changed_.notify_all();
}

void InterruptibleMutex::unlock() {
  holders_ = 0;
  wake();
}

void InterruptibleMutex::unlock_shared() {
  if (--holders_ == 0) wake();
}

void InterruptibleMutex::lock(const Interrupted& interrupted) {
  if (try_lock()) return;
  try {
    MutexLock lock(mutex_);
    const Counted waiting(waiting_), exclusive(waiting_exclusively_);
    while (!try_lock()) {
      changed_.wait_for(lock, between_questions);
      ask(mutex_, interrupted);
    }
  } catch (...) {
    wake();  // those who gave way
    throw;
  }
}

void InterruptibleMutex::lock_shared(const Interrupted& interrupted) {
  if (try_lock_shared()) return;
  MutexLock lock(mutex_);
  const Counted waiting(waiting_);
  bool gives_way = true;
  for (;;) {
    if (gives_way ? try_lock_shared() : take_shared()) return;
    const bool held = holders_ == exclusively;
    const bool woken = changed_.wait_for(lock, held ? between_questions : giving_way);
    if (!held && !woken) gives_way = false;
    ask(mutex_, interrupted);
  }
}

// Both return with the mutex held, by an object that the analysis doesn't follow.
ExclusiveHold hold_exclusively(InterruptibleMutex& mutex, const Interrupted& interrupted) NO_THREAD_SAFETY_ANALYSIS {
  mutex.lock(interrupted);
  return {mutex, std::adopt_lock};
}

SharedHold hold_shared(InterruptibleMutex& mutex, const Interrupted& interrupted) NO_THREAD_SAFETY_ANALYSIS {
  mutex.lock_shared(interrupted);
  return {mutex, std::adopt_lock};
}

std::vector<ExclusiveHold> hold_exclusively(std::span<InterruptibleMutex* const> mutexes, const Interrupted& interrupted) {
  if (mutexes.empty()) return {};
  for (size_t first = 0;;) {
    std::vector<ExclusiveHold> held(mutexes.size());
    held[first] = hold_exclusively(*mutexes[first], interrupted);
    size_t taken = mutexes.size();
    for (size_t i = 0; i < mutexes.size() && taken == mutexes.size(); ++i) {
      if (i == first) continue;
      held[i] = ExclusiveHold(*mutexes[i], std::try_to_lock);
      if (!held[i]) taken = i;
    }
    if (taken == mutexes.size()) return held;
    first = taken;
    held.clear();
    if (interrupted) interrupted();
  }
}

}  // namespace base
