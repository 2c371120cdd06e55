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

// The machine's own, thread-safe: for what the machine times itself (sockets, sleeps, WiredTiger), for log lines and ObjectIds.
Clock& system_clock();

}  // namespace base
