// How far a long operation is, for currentOp.
#pragma once

#include <cstdint>
#include <string>

namespace server {

struct Progress {
  std::string what;             // is being done, as MongoDB's `msg` has it
  int64_t done = 0, total = 0;  // total 0: nobody said
};

}  // namespace server
