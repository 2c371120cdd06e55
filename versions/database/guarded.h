// A repair reads tables that may be damaged themselves. It skips the rows that it can't read, and goes on.
#pragma once

#include "base/error.h"

namespace versions {

// Returns the work's result, or an empty one if a page or row that it needs is damaged. Other errors are thrown.
template <class Work>
auto guarded(Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const base::OperationError& damage) {
    if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
    return {};
  }
}

}  // namespace versions
