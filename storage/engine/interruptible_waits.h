// An operation that waits inside the engine can be interrupted (cache_waits.h says how).
#pragma once

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

}  // namespace storage
