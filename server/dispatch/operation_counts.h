// What an operation adds to the server's counters once it is over.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace server {

class Command;
class OperationContext;

// opcounters, latencies, metrics and the use of its collection, which statements count themselves. `command`: nullptr where there
// is none of that name. `code`: what it failed with, or ok. Any thread.
void count_operation(const OperationContext& op, const Command* command, base::ErrorCode code, int64_t us);

// A statement's use of its collection; op.counts are those of the statement.
void count_statement(const OperationContext& op, std::string_view ns, int64_t us);

}  // namespace server
