// What a repair reads may be damaged, and it goes on without it.
#pragma once

#include "base/error.h"

namespace versions {

// Returns nothing if the work met damage.
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
