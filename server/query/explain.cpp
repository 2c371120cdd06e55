#include "base/clock.h"
#include "server/query/executor_plan.h"
#include "server/query/fitting_int.h"
#include "server/query/match/node.h"
#include "server/query/plan/plan_name.h"
#include "server/query/query_shape.h"

namespace server::query {

namespace {

std::string shape_of(const Query& query) {
  return query_shape(query.filter, query.sort, query.projection, query.collator());
}

void explain_tree(bson::Builder& out, const exec::Stage& root, Verbosity verbosity, const Executor::Top* top) {
  if (!top) return root.explain(out, verbosity);
  out.append("stage", top->stage);
  if (verbosity != Verbosity::query_planner) {
    const exec::StageStats& stats = root.stats();
    out.append("nReturned", 0).append("executionTimeMillisEstimate", 0).append("works", fitting_int(stats.works));
    out.append("advanced", 0).append("needTime", fitting_int(stats.works)).append("needYield", 0);
    out.append("saveState", fitting_int(stats.saves)).append("restoreState", fitting_int(stats.restores)).append("isEOF", 1);
    out.append_all(top->details);
    if (top->figures) top->figures(out);
  } else {
    out.append_all(top->details);
  }
  if (top->alone) return;
  auto input = out.object("inputStage");
  root.explain(input, verbosity);
}

// `ms` is nullopt for a plan that was only tried, because its time wasn't measured.
void append_totals(bson::Builder& out, const exec::Stage& root, int64_t returned, std::optional<int64_t> ms) {
  ExecutionStats stats;
  root.count(stats);
  out.append("nReturned", fitting_int(returned))
      .append(ms ? "executionTimeMillis" : "executionTimeMillisEstimate", fitting_int(ms.value_or(0)));
  out.append("totalKeysExamined", fitting_int(stats.keys_examined)).append("totalDocsExamined", fitting_int(stats.docs_examined));
  out.append("dedupHops", fitting_int(stats.dedup_hops)).append("dedupDecodedBytes", fitting_int(stats.dedup_bytes));
}

}  // namespace

void append_trial(bson::Builder& out, const exec::Trial& trial) {
  append_totals(out, *trial.stages, trial.stages->stats().advanced, std::nullopt);
  out.append("score", trial.score);
  auto stages = out.object("executionStages");
  trial.stages->explain(stages, Verbosity::execution_stats);
}

std::string Executor::shape_hash() const {
  return shape_digest(shape_of(plan_->query));
}

std::string Executor::plan_key() const {
  return plan::plan_key(shape_of(plan_->query), plan_->collection.get());
}

void Executor::append_stages(bson::Builder& out) const {
  plan_->root->explain(out, Verbosity::execution_stats);
}

void Executor::explain_planner(bson::Builder& out, const Top* top) const {
  auto planner = out.object("queryPlanner");
  planner.append("namespace", plan_->ns).append("indexFilterSet", plan_->query.index_filter != nullptr);
  {
    auto parsed = planner.object("parsedQuery");
    plan_->matcher->root().append(parsed);
  }
  if (const auto& collator = this->collator()) planner.append("collation", collator->specification());
  planner.append("queryHash", shape_hash()).append("planCacheKey", plan_key());
  planner.append("maxIndexedOrSolutionsReached", false).append("maxIndexedAndSolutionsReached", false);
  planner.append("maxScansToExplodeReached", false);
  {
    auto winning = planner.object("winningPlan");
    explain_tree(winning, *plan_->root, Verbosity::query_planner, top);
  }
  auto rejected = planner.array("rejectedPlans");
  for (const plan::Access& access : plan_->rejected) {
    auto one = rejected.object();
    explain_tree(one, *exec::build(plan_->parts(), access), Verbosity::query_planner, top);
  }
}

void Executor::explain_execution(bson::Builder& out, Verbosity verbosity, const Top* top) const {
  const int64_t ms = (plan_->clock->monotonic_us() - plan_->started_us) / 1000;
  auto execution = out.object("executionStats");
  execution.append("executionSuccess", true);
  append_totals(execution, *plan_->root, top ? 0 : plan_->root->stats().advanced, ms);
  {
    auto stages = execution.object("executionStages");
    explain_tree(stages, *plan_->root, Verbosity::execution_stats, top);
  }
  if (verbosity != Verbosity::all_plans_execution) return;
  auto trials = execution.array("allPlansExecution");
  for (const exec::Trial& trial : plan_->trials) {
    auto one = trials.object();
    append_trial(one, trial);
  }
}

void Executor::explain(bson::Builder& out, Verbosity verbosity, const Top* top) const {
  explain_planner(out, top);
  if (verbosity != Verbosity::query_planner) explain_execution(out, verbosity, top);
}

}  // namespace server::query
