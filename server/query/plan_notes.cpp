#include "server/query/plan_notes.h"

#include "server/operation.h"
#include "server/query/executor.h"

namespace server::query {

void note_plan(OperationContext& op, const Executor& executor) {
  op.set_plan_summary(executor.summary());
  op.counts.scan = executor.scans();
  op.counts.tailable = executor.tailable();
  op.counts.sort = executor.sorts();
}

}  // namespace server::query
