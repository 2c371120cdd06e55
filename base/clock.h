// A clock is passed in as an object, so that tests can hold time still. tools/layers lists the files that take the machine's own.
#pragma once

#include <cstdint>

namespace base {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t wall_ms() const = 0;       // since 1970-01-01 UTC
  virtual int64_t monotonic_us() const = 0;  // never goes back
};

// Returns the machine's own clock. It is for sockets, sleeps and WiredTiger, which the machine times, and for logs and ObjectIds.
Clock& system_clock();  // thread-safe

}  // namespace base
