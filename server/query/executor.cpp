#include "server/query/executor.h"

#include <algorithm>

#include "base/clock.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/executor_plan.h"
#include "server/query/match/geo.h"
#include "server/query/match/text.h"
#include "server/query/plan/hint.h"
#include "server/query/plan/index_filters.h"
#include "server/query/plan/plan_name.h"
#include "server/query/plan/planner.h"
#include "server/query/query_parameters.h"
#include "server/query/query_shape.h"
#include "storage/store.h"

namespace server::query {

namespace {

constexpr int works_between_pauses = 128;
constexpr int64_t pause_us = 10'000;

}  // namespace

Executor::Plan::Plan(OperationContext& current, Allowance* whole)
    : op(&current), allowance(op, &current.services().memory, whole), planned(allowance) {}

Executor::Executor(std::unique_ptr<Plan> plan) : plan_(std::move(plan)), resumed_us_(plan_->clock->monotonic_us()) {}
Executor::~Executor() = default;

namespace {

// Tells the cache who won a race.
void remember(Executor::Plan& plan, const PlanCacheKey& key, const plan::Access& winner, const std::vector<exec::Trial>& trials,
              size_t winner_number) {
  CachedPlan found;
  found.plan = plan::plan_name(winner);
  found.works = trials[winner_number].stages->stats().works;
  found.index_filter = plan.query.index_filter != nullptr;
  found.created_ms = plan.clock->wall_ms();
  found.filter = plan.query.filter;
  found.sort = plan.query.sort;
  found.projection = plan.query.projection;
  found.collator = *plan.query.collation;
  const auto add = [&](const exec::Trial& trial) {
    bson::Builder run;
    append_trial(run, trial);
    found.runs.push_back(run.done());
    found.scores.push_back(trial.score);
  };
  bson::Builder stages;
  trials[winner_number].stages->explain(stages, Verbosity::query_planner);
  found.stages = stages.done();
  add(trials[winner_number]);
  for (size_t i = 0; i < trials.size(); ++i) {
    if (i != winner_number) add(trials[i]);
  }
  plan.op->services().plan_cache.add_race(key, plan::index_fingerprint(*plan.collection), std::move(found));
}

// Lets the ways race, and leaves the winner in `plan.chosen`. With a key, the cache learns what the race found out.
void race(Executor::Plan& plan, std::vector<plan::Access> ways, const std::optional<PlanCacheKey>& key) {
  size_t winner = 0;
  if (ways.size() > 1) {
    std::vector<exec::Trial> trials;
    for (const plan::Access& way : ways) trials.push_back({.stages = exec::build(plan.parts(), way)});
    plan.raced = true;
    winner = exec::race(trials, *plan.transaction, race_limits(*plan.op), [&] { plan.op->check_interrupt(); });
    if (key) remember(plan, *key, ways[winner], trials, winner);
    if (plan.query.explained) {
      std::swap(trials[0], trials[winner]);
      plan.trials = std::move(trials);
    }
  }
  std::swap(ways[0], ways[winner]);
  plan.chosen = std::move(ways.front());
  plan.rejected.assign(std::make_move_iterator(ways.begin() + 1), std::make_move_iterator(ways.end()));
}

// Looks whether a plan of the cache keeps to what it needed when it was chosen. `plan.expected` is set.
void compare_with_expected(Executor::Plan& plan) {
  const exec::StageStats& stats = plan.root->stats();
  if (stats.ended || stats.advanced >= plan.expected->results_max) return plan.expected.reset();
  if (stats.works <= plan.expected->works_max) return;
  auto expected = *std::move(plan.expected);
  plan.expected.reset();
  plan.op->services().plan_cache.deactivate(expected.key);
  // Results that were returned can't be taken back, so the next query lets the plans race.
  if (stats.advanced != 0) return;
  plan.replanned = true;
  race(plan, std::move(expected.ways), expected.key);
  plan.root = exec::build(plan.parts(), plan.chosen);
}

}  // namespace

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
    const exec::Step step = plan_->root->work(*plan_->transaction);
    if (plan_->expected) compare_with_expected(*plan_);
    switch (step) {
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
bool Executor::raced() const {
  return plan_->raced;
}
bool Executor::replanned() const {
  return plan_->replanned;
}
const Matcher& Executor::matcher() const {
  return *plan_->matcher;
}
const bson::CollatorPtr& Executor::collator() const {
  return *plan_->query.collation;
}

namespace {

// Returns the key of queries whose plans the cache keeps; nullopt: this one's are always tried, or there is nothing to choose.
std::optional<PlanCacheKey> cache_key(const Executor::Plan& plan, size_t ways) {
  const Query& query = plan.query;
  if (ways < 2 || query.explained || query.tailable || query.hint.exists() || !query.min.empty() || !query.max.empty())
    return std::nullopt;
  return PlanCacheKey{plan.collection->id(), query_shape(query.filter, query.sort, query.projection, query.collator())};
}

// Chooses among the ways: the cache's plan, if there is one, or else the winner of a race.
void choose(Executor::Plan& plan, std::vector<plan::Access> ways) {
  const auto key = cache_key(plan, ways.size());
  const auto known = key ? plan.op->services().plan_cache.find(*key, plan::index_fingerprint(*plan.collection)) : nullptr;
  if (known && known->active) {
    const auto way =
        std::find_if(ways.begin(), ways.end(), [&](const plan::Access& one) { return plan::plan_name(one) == known->plan; });
    if (way != ways.end()) {
      plan.chosen = *way;
      const int64_t ratio = cached_works_ratio(*plan.op);
      plan.expected.emplace();
      plan.expected->key = *key;
      plan.expected->works_max = known->works > INT64_MAX / ratio ? INT64_MAX : known->works * ratio;
      plan.expected->results_max = race_limits(*plan.op).results_max;
      plan.expected->ways = std::move(ways);
      return;
    }
  }
  race(plan, std::move(ways), key);
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
  if (plan.metadata) plan.metadata->offer(MetaField::text_score);
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
  plan->sort_bytes_max = static_cast<size_t>(sort_bytes_max(op));
  if (!plan->query.collation) plan->query.collation = plan->collection ? plan->collection->options().collator : nullptr;
  const bson::CollatorPtr& collator = *plan->query.collation;
  ParseContext context = filter_context(op, plan->query.let, collator);
  context.allowance = &plan->allowance;
  context.planned = true;
  plan->matcher = Matcher::parse(plan->query.filter, context);
  plan->ns = plan->collection ? plan->collection->ns() : plan->query.ns;
  plan->metadata = plan->query.metadata;
  if (!plan->metadata && !(plan->query.sort.empty() && plan->query.projection.empty()))
    plan->metadata = std::make_shared<MetadataPlace>();
  plan->query.metadata = plan->metadata;
  if (match::find_text(plan->matcher->root())) prepare_text(*plan);
  if (plan->metadata && match::near_of(plan->matcher->root())) {
    plan->metadata->offer(MetaField::near_distance);
    plan->metadata->offer(MetaField::near_point);
  }
  context.metadata = plan->metadata;
  if (!plan::sorts_naturally(plan->query)) plan->sort = SortPattern::parse(plan->query.sort, collator, plan->metadata);
  if (!plan->query.projection.empty()) {
    plan->projection = Projection::parse(plan->query.projection, plan->matcher.get(), context);
    if (plan->metadata->wants(MetaField::sort_key) && plan->query.sort.empty())
      throw base::OperationError(base::ErrorCode::bad_value, "cannot use sortKey $meta projection without a sort");
  }
  apply_index_filter(*plan, op);
  std::vector<plan::Access> ways =
      plan::ways(plan->collection, plan->query, *plan->matcher, plan->sort, plan->projection.get(), plan->allowance);
  // The stages of a way have its ranges, and its bounds as explain shows them.
  for (const plan::Access& way : ways) plan->planned.add(plan::copies_of_a_way * plan::bytes_of(way));
  check_scans(*plan, ways, op);
  choose(*plan, std::move(ways));
  plan->root = exec::build(plan->parts(), plan->chosen);
  return std::make_unique<Executor>(std::move(plan));
}

}  // namespace server::query
