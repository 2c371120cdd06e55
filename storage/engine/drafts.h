// A draft (Transaction::Mode::draft) stays open for as long as a client thinks. If the background stored a document in another
// way meanwhile, the draft could no longer write to it: the row is newer than what the draft sees, though the document isn't. So
// the background moves contents only while no draft is open.
#pragma once

#include <atomic>

#include "base/interruptible_mutex.h"

namespace storage {

// This class is thread-safe. While nobody drafts, the background takes it with one atomic operation.
class Drafts {
 public:
  // A draft holds this from before its beginning to its end. `interrupted` is called while it waits, and may throw.
  base::SharedHold hold(const base::Interrupted& interrupted) {
    base::SharedHold held(mutex_, std::try_to_lock);
    if (held) return held;
    awaiting_.fetch_add(1, std::memory_order_relaxed);
    try {
      held = base::hold_shared(mutex_, interrupted);
    } catch (...) {
      awaiting_.fetch_sub(1, std::memory_order_relaxed);
      throw;
    }
    awaiting_.fetch_sub(1, std::memory_order_relaxed);
    return held;
  }
  // A draft waits to begin.
  bool awaited() const { return awaiting_.load(std::memory_order_relaxed) > 0; }

  // Returns a lock that keeps drafts from beginning, or an empty one if a draft is open. With `wait` it waits some 20 ms for
  // those that are open to end; drafts that want to begin meanwhile let the caller go first, so that short drafts in close
  // succession don't keep it out.
  base::ExclusiveHold try_alone(bool wait) {
    base::ExclusiveHold alone(mutex_, std::try_to_lock);
    if (alone || !wait) return alone;
    struct Late {};
    try {
      return base::hold_exclusively(mutex_, [] { throw Late(); });
    } catch (const Late&) {
      return {};
    }
  }

 private:
  base::InterruptibleMutex mutex_;
  std::atomic<int> awaiting_{0};
};

}  // namespace storage
