// An operation that waits inside the engine can be interrupted (cache_waits.h says how).
#pragma once

#include <cstdint>

#include "base/interruptible_mutex.h"

namespace storage {

// While an object of this class lives, waits of its thread call `interrupted` now and then, and end when it throws. The function
// has to live as long. Code that must not be interrupted has nullptr.
class InterruptibleWaits {
 public:
  explicit InterruptibleWaits(const base::Interrupted* interrupted);
  ~InterruptibleWaits();
  InterruptibleWaits(const InterruptibleWaits&) = delete;
  InterruptibleWaits& operator=(const InterruptibleWaits&) = delete;

 private:
  const base::Interrupted* const outer_;
};

// Calls the function that this thread's waits call, if there is one. It may throw.
void ask_interrupted();

// A loop that passes over rows which its caller doesn't hear of calls pass() for each of them; one call in 1,024 asks.
class InterruptibleLoop {
 public:
  void pass() {
    if (++passed_ % 1024 == 0) ask_interrupted();
  }

 private:
  uint32_t passed_ = 0;
};

}  // namespace storage
