// Progress says how far a long operation is, for currentOp.
#pragma once

#include <cstdint>
#include <string>

namespace server {

struct Progress {
  std::string what;             // MongoDB's `msg`: what the operation is doing
  int64_t done = 0, total = 0;  // total 0: it isn't known
};

}  // namespace server
