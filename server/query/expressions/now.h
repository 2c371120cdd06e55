// $$NOW is the time at which the command began, the same all through it.
#pragma once

#include "base/clock.h"
#include "server/core/operation.h"
#include "server/core/services.h"

namespace server::query {

inline int64_t command_time_ms(const OperationContext& op) {
  return op.services().clock.wall_ms() - op.elapsed_us() / 1000;
}

}  // namespace server::query
