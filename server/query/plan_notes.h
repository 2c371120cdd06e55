// An operation remembers facts about the plan that it ran, for the log, the counters and the profiler.
#pragma once

namespace server {
class OperationContext;
}

namespace server::query {

class Executor;

// Called before the plan runs.
void note_plan(OperationContext& op, const Executor& executor);
// Called after it has run, or after its batch. It does something only if the profiler wants to see the stages.
void note_execution(OperationContext& op, const Executor& executor);

}  // namespace server::query
