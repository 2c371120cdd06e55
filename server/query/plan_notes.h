// What an operation remembers of the plan it ran: for the log and the counters.
#pragma once

namespace server {
class OperationContext;
}

namespace server::query {

class Executor;

// Before it runs.
void note_plan(OperationContext& op, const Executor& executor);
}  // namespace server::query
