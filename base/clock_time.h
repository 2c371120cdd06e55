// This is a Clock's monotonic time as the standard library's type, for deadlines and durations.
#pragma once

#include <chrono>

#include "base/clock.h"

namespace base {

inline std::chrono::steady_clock::time_point now(const Clock& clock) {
  return std::chrono::steady_clock::time_point(std::chrono::microseconds(clock.monotonic_us()));
}

}  // namespace base
