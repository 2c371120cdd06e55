#include "server/query/plan_notes.h"

#include "server/core/operation.h"
#include "server/query/executor.h"

namespace server::query {

void note_plan(OperationContext& op, const Executor& executor) {
  op.set_plan_summary(executor.summary());
  op.counts.scan = executor.scans();
  op.counts.tailable = executor.tailable();
  op.counts.sort = executor.sorts();
  op.counts.raced = executor.raced();
}

void note_execution(OperationContext& op, const Executor& executor) {
  if (executor.replanned()) {
    note_plan(op, executor);
    op.counts.replanned = true;
  }
  if (!op.explain_wanted) return;
  bson::Builder stages;
  executor.append_stages(stages);
  op.execution = stages.done();
  op.query_hash = {executor.shape_hash(), executor.plan_key()};
}

}  // namespace server::query
