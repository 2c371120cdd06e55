#include "server/query/executor.h"

#include <algorithm>

#include "base/clock.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/executor_plan.h"
#include "server/query/match/text.h"
#include "server/query/plan/hint.h"
#include "server/query/plan/index_filters.h"
#include "server/query/plan/planner.h"
#include "server/query/query_parameters.h"
#include "storage/store.h"

namespace server::query {

namespace {

constexpr int works_between_pauses = 128;
constexpr int64_t pause_us = 10'000;

}  // namespace

Executor::Plan::Plan(OperationContext& current, Allowance* whole)
    : op(&current), allowance(op, &current.services().memory, whole) {}

Executor::Executor(std::unique_ptr<Plan> plan) : plan_(std::move(plan)), resumed_us_(plan_->clock->monotonic_us()) {}
Executor::~Executor() = default;

Executor::Step Executor::step() {
  for (;;) {
    ++since_pause_;
    if (since_pause_ >= works_between_pauses ||
        (since_pause_ % 8 == 0 && plan_->clock->monotonic_us() - resumed_us_ >= pause_us)) {
      plan_->op->check_interrupt();
      since_pause_ = 0;
      resumed_us_ = plan_->clock->monotonic_us();
      return Step::pause;
    }
    switch (plan_->root->work(*plan_->transaction)) {
      case exec::Step::advanced: return Step::advanced;
      case exec::Step::end: return Step::end;
      case exec::Step::pending: break;
    }
  }
}

bool Executor::next() {
  for (;;) {
    const Step step = this->step();
    if (step != Step::pause) return step == Step::advanced;
  }
}

bson::DocumentView Executor::document() {
  return plan_->root->document();
}
double Executor::text_score() const {
  return plan_->text_score ? *plan_->text_score : 0;
}
storage::RecordId Executor::record() const {
  return plan_->root->record();
}

std::optional<std::string> Executor::array_position() {
  std::optional<std::string> position;
  plan_->matcher->matches(document(), position);
  return position;
}

void Executor::save() {
  plan_->root->save();
  plan_->transaction = nullptr;
}

void Executor::restore(storage::Transaction& transaction) {
  plan_->transaction = &transaction;
  plan_->root->restore(transaction);
  resumed_us_ = plan_->clock->monotonic_us();
}

void Executor::attach(OperationContext& op) {
  plan_->op = &op;
}
void Executor::detach() {
  plan_->op = nullptr;
}

bool Executor::tailable() const {
  return plan_->root->resumes();
}
bool Executor::exhausted() const {
  return plan_->root->exhausted();
}

ExecutionStats Executor::stats() const {
  ExecutionStats stats;
  plan_->root->count(stats);
  stats.returned = plan_->root->stats().advanced;
  stats.works = plan_->root->stats().works;
  return stats;
}

std::string Executor::summary() const {
  return plan_->root->summary();
}
bool Executor::scans() const {
  return plan_->root->has("COLLSCAN");
}
bool Executor::sorts() const {
  return plan_->root->has("SORT");
}
const Matcher& Executor::matcher() const {
  return *plan_->matcher;
}
const bson::CollatorPtr& Executor::collator() const {
  return *plan_->query.collation;
}

namespace {

// Lets the ways race, and leaves the winner in `plan.chosen`.
void choose(Executor::Plan& plan, std::vector<plan::Access> ways, OperationContext& op) {
  size_t winner = 0;
  if (ways.size() > 1) {
    std::vector<exec::Trial> trials;
    for (const plan::Access& way : ways) trials.push_back({.stages = exec::build(plan.parts(), way)});
    winner = exec::race(trials, *plan.transaction, [&] { op.check_interrupt(); });
    if (plan.query.keep_trials) {
      std::swap(trials[0], trials[winner]);
      plan.trials = std::move(trials);
    }
  }
  std::swap(ways[0], ways[winner]);
  plan.chosen = std::move(ways.front());
  plan.rejected.assign(std::make_move_iterator(ways.begin() + 1), std::make_move_iterator(ways.end()));
}

// An index filter is stronger than a hint.
void apply_index_filter(Executor::Plan& plan, const OperationContext& op) {
  if (!plan.collection) return;
  Query& query = plan.query;
  query.index_filter =
      op.services().index_filters.find(plan.collection->id(), query.filter, query.sort, query.projection, query.collator());
  if (query.index_filter && query.min.empty() && query.max.empty()) query.hint = {};
}

// With `notablescan`, a query with a filter needs an index. The server's own databases and collections are excepted.
void check_scans(const Executor::Plan& plan, const std::vector<plan::Access>& ways, const OperationContext& op) {
  const auto scans = [](const plan::Access& way) { return way.kind == plan::Access::Kind::collection; };
  if (plan.query.filter.view().empty() || !std::any_of(ways.begin(), ways.end(), scans) || !refuses_scans(op)) return;
  const std::string_view ns = plan.ns;
  for (const std::string_view own : {"admin.", "config.", "local."}) {
    if (ns.starts_with(own)) return;
  }
  if (ns.find(".system.") != ns.npos) return;
  throw base::OperationError(base::ErrorCode::no_query_execution_plans,
                             "error processing query: ns=" + plan.ns +
                                 " planner returned error :: caused by :: No indexed plans available, and running with "
                                 "'notablescan'");
}

// Binds $text to the collection's index.
void prepare_text(Executor::Plan& plan) {
  const auto refuse = [](const char* why) { throw base::OperationError(base::ErrorCode::bad_value, why); };
  const Query& query = plan.query;
  if (plan::sorts_naturally(query)) refuse("text expression not allowed with $natural sort order");
  if (query.hint.exists() && !(query.hint.view().is_object() && query.hint.view().as_document().empty()))
    refuse("text and hint not allowed in same query");
  if (query.tailable) refuse("text and tailable cursor not allowed in same query");
  match::bind_text(plan.matcher->root(), plan.collection.get(), plan.ns);
  plan.text_score = query.text_score ? query.text_score : std::make_shared<double>(0);
}

}  // namespace

std::unique_ptr<Executor> make_executor(OperationContext& op, storage::Transaction& transaction,
                                        std::shared_ptr<storage::Collection> collection, const Query& query, Allowance* whole) {
  auto plan = std::make_unique<Executor::Plan>(op, whole);
  plan->clock = &op.services().clock;
  plan->started_us = plan->clock->monotonic_us();
  plan->query = query;
  plan->collection = std::move(collection);
  plan->transaction = &transaction;
  plan->engine = &transaction.engine();
  plan->temporary_path = transaction.engine().options().path + "/_tmp";
  if (!plan->query.collation) plan->query.collation = plan->collection ? plan->collection->options().collator : nullptr;
  const bson::CollatorPtr& collator = *plan->query.collation;
  ParseContext context = filter_context(op, plan->query.let, collator);
  context.allowance = &plan->allowance;
  plan->matcher = Matcher::parse(plan->query.filter, context);
  plan->ns = plan->collection ? plan->collection->ns() : plan->query.ns;
  if (match::find_text(plan->matcher->root())) prepare_text(*plan);
  context.text_score = plan->text_score;
  if (!plan::sorts_naturally(plan->query)) plan->sort = SortPattern::parse(plan->query.sort, collator, plan->text_score);
  if (!plan->query.projection.empty()) plan->projection = Projection::parse(plan->query.projection, plan->matcher.get(), context);
  // The sort, the projection or a pipeline have the score, too, if they read it.
  context.text_score = nullptr;
  plan->wants_text_score = plan->text_score.use_count() > 1;
  apply_index_filter(*plan, op);
  std::vector<plan::Access> ways = plan::ways(plan->collection, plan->query, *plan->matcher, plan->sort, plan->projection.get());
  check_scans(*plan, ways, op);
  choose(*plan, std::move(ways), op);
  plan->root = exec::build(plan->parts(), plan->chosen);
  return std::make_unique<Executor>(std::move(plan));
}

}  // namespace server::query
