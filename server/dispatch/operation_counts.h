// An operation is added to the server's counters once it is over.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace server {

class Command;
class OperationContext;

// Counts in opcounters, latencies, metrics and the use of the operation's collection; statements count the latter themselves.
// `command` is nullptr if there is none of the request's name. `code` is the operation's error, or ok. Any thread may call it.
void count_operation(const OperationContext& op, const Command* command, base::ErrorCode code, int64_t us);

// Counts a statement's use of its collection; op.counts are those of the statement.
void count_statement(const OperationContext& op, std::string_view ns, int64_t us);

}  // namespace server
