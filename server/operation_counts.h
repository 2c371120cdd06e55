// What an operation adds to the server's counters once it is over.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace server {

class Command;
class OperationContext;

// opcounters, latencies, metrics and the use of its collection. `command`: nullptr where there is none of that name. `code`: what
// it failed with, or ok. Any thread.
void count_operation(const OperationContext& op, const Command* command, base::ErrorCode code, int64_t us);

}  // namespace server
