// What an operation remembers of the plan it ran: for the log, the counters and the profiler.
#pragma once

namespace server {
class OperationContext;
}

namespace server::query {

class Executor;

// Before it runs.
void note_plan(OperationContext& op, const Executor& executor);
// After it has run, or its batch. Only where the profiler wants to see the stages.
void note_execution(OperationContext& op, const Executor& executor);

}  // namespace server::query
