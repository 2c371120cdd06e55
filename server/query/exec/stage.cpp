#include "server/query/exec/stage.h"

#include <algorithm>

#include "server/query/fitting_int.h"
#include "server/query/match/node.h"

namespace server::query::exec {

void Filter::append(bson::Builder& out) const {
  if (nodes_.empty()) return;
  auto filter = out.object("filter");
  if (nodes_.size() == 1) return nodes_.front()->append(filter);
  auto all = filter.array("$and");
  for (const match::Node* node : nodes_) {
    auto one = all.object();
    node->append(one);
  }
}

Stage::Stage(std::string name, std::unique_ptr<Stage> child) : name_(std::move(name)) {
  children_.push_back(std::move(child));
}

Step Stage::work(storage::Transaction& transaction) {
  ++stats_.works;
  const Step step = do_work(transaction);
  switch (step) {
    case Step::advanced:
      ++stats_.advanced;
      if (advanced_) advanced_(*this);
      break;
    case Step::pending: ++stats_.pending; break;
    case Step::end: stats_.ended = true; break;
  }
  return step;
}

void Stage::save() {
  ++stats_.saves;
  do_save();
  for (auto& child : children_) child->save();
}

void Stage::restore(storage::Transaction& transaction) {
  ++stats_.restores;
  for (auto& child : children_) child->restore(transaction);
  do_restore(transaction);
}

void Stage::explain(bson::Builder& out, Verbosity verbosity) const {
  out.append("stage", name_);
  append_filter(out);
  if (verbosity == Verbosity::query_planner) {
    append_details(out);
  } else {
    out.append("nReturned", fitting_int(stats_.advanced))
        .append("executionTimeMillisEstimate", 0)
        .append("works", fitting_int(stats_.works));
    out.append("advanced", fitting_int(stats_.advanced)).append("needTime", fitting_int(stats_.pending)).append("needYield", 0);
    out.append("saveState", fitting_int(stats_.saves))
        .append("restoreState", fitting_int(stats_.restores))
        .append("isEOF", stats_.ended ? 1 : 0);
    append_details(out);
    append_figures(out);
  }
  if (children_.size() == 1) {
    auto input = out.object("inputStage");
    child().explain(input, verbosity);
  } else if (!children_.empty()) {
    auto inputs = out.array("inputStages");
    for (const auto& stage : children_) {
      auto input = inputs.object();
      stage->explain(input, verbosity);
    }
  }
}

bool Stage::has(std::string_view name) const {
  return name_ == name || std::any_of(children_.begin(), children_.end(), [&](const auto& child) { return child->has(name); });
}

void Stage::count(ExecutionStats& total) const {
  for (const auto& stage : children_) stage->count(total);
}

std::string Stage::summary() const {
  std::string text;
  for (const auto& stage : children_) text += (text.empty() ? "" : ", ") + stage->summary();
  return text.empty() ? name_ : text;
}

}  // namespace server::query::exec
