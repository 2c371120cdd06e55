// Repairs and searches for damage read tables that may be damaged themselves. They skip the rows that they can't read, and go on.
#pragma once

#include "base/error.h"

namespace base {

// Returns the work's result, or an empty one if a page or row that it needs is damaged. Other errors are thrown.
template <class Work>
auto guarded(Work work) -> decltype(work()) {
  using Result = decltype(work());
  try {
    return work();
  } catch (const OperationError& damage) {
    if (damage.code() != ErrorCode::data_corruption_detected) throw;
    return Result();
  }
}

}  // namespace base
