#include "server/dispatch/statement.h"

#include "server/core/services.h"
#include "server/dispatch/operation_counts.h"
#include "server/dispatch/profiler.h"

namespace server {
namespace {

int64_t sum(int64_t a, int64_t b) {
  return a < 0 ? b : b < 0 ? a : a + b;
}

// Adds the counts of two statements.
OperationContext::Counts together(const OperationContext::Counts& a, const OperationContext::Counts& b) {
  OperationContext::Counts counts = b;
  counts.keys_examined = sum(a.keys_examined, b.keys_examined);
  counts.docs_examined = sum(a.docs_examined, b.docs_examined);
  counts.matched = sum(a.matched, b.matched);
  counts.modified = sum(a.modified, b.modified);
  counts.inserted = sum(a.inserted, b.inserted);
  counts.deleted = sum(a.deleted, b.deleted);
  counts.upserted += a.upserted;
  counts.yields += a.yields;
  counts.write_conflicts += a.write_conflicts;
  counts.scan = a.scan || b.scan;
  counts.sort = a.sort || b.sort;
  return counts;
}

}  // namespace

Statement::Statement(OperationContext& op, std::string_view ns, bson::DocumentView shown)
    : op_(op), ns_(ns), shown_(shown), before_(op.counts), begun_us_(op.elapsed_us()) {
  op.counts = {};
  op.explain_wanted = op.services().profiler.watches(ns);
  if (!op.explain_wanted) return;
  // The statement before has left its own.
  op.set_plan_summary({});
  op.execution.reset();
  op.query_hash.reset();
}

void Statement::failed(const base::OperationError& error) {
  code_ = error.code();
  message_ = error.what();
}

Statement::~Statement() {
  const int64_t us = op_.elapsed_us() - begun_us_;
  count_statement(op_, ns_, us);
  if (op_.explain_wanted) {
    op_.services().profiler.finish(
        op_, {.command = op_.command(), .ns = ns_, .shown = shown_, .code = code_, .message = message_, .us = us});
  }
  op_.counts = together(before_, op_.counts);
}

}  // namespace server
