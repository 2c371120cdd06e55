// $$NOW is the time at which the command began, the same all through it.
#pragma once

#include "server/core/operation.h"

namespace server::query {

inline int64_t command_time_ms(const OperationContext& op) {
  return op.started_wall_ms();
}

}  // namespace server::query
