// Reads from /proc how much CPU time a process has used and how often its threads were switched.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace bench {

struct Usage {
  double cpu_seconds = 0;
  uint64_t switches = 0;  // of context, voluntary or not, of all threads that are alive

  Usage operator-(const Usage& before) const { return {cpu_seconds - before.cpu_seconds, switches - before.switches}; }
};

// Throws std::runtime_error where there is no such process.
Usage usage_of(pid_t pid);

}  // namespace bench
