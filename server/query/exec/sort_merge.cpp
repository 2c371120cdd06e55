#include "server/query/exec/sort_merge.h"

#include <algorithm>
#include <numeric>

#include "server/query/fitting_int.h"

namespace server::query::exec {

SortMerge::SortMerge(std::vector<StagePtr> branches, bson::DocumentView sort, KeyOf key_of, bool backward)
    : Stage("SORT_MERGE"), sort_(sort), key_of_(std::move(key_of)), backward_(backward), rows_(branches.size()) {
  children_ = std::move(branches);
  hungry_.resize(children_.size());
  std::iota(hungry_.rbegin(), hungry_.rend(), 0);
}

Step SortMerge::do_work(storage::Transaction& transaction) {
  if (!hungry_.empty()) {
    const size_t branch = hungry_.back();
    const Step step = children_[branch]->work(transaction);
    if (step == Step::pending) return step;
    hungry_.pop_back();
    if (step == Step::advanced) take(branch);
    return Step::pending;
  }
  if (waiting_.empty()) return Step::end;
  current_ = pop();
  hungry_.push_back(current_);
  if (seen_.insert(rows_[current_].record).second) return Step::advanced;
  ++doubles_;
  return Step::pending;
}

bool SortMerge::comes_later(size_t a, size_t b) const {
  const int order = rows_[a].sort_key.compare(rows_[b].sort_key);
  return order != 0 ? (order > 0) != backward_ : a > b;
}

void SortMerge::take(size_t branch) {
  Stage& stage = *children_[branch];
  rows_[branch] = {key_of_(stage, branch), bson::Bytes(stage.key()), stage.record()};
  waiting_.push_back(branch);
  std::push_heap(waiting_.begin(), waiting_.end(), [this](size_t a, size_t b) { return comes_later(a, b); });
}

size_t SortMerge::pop() {
  std::pop_heap(waiting_.begin(), waiting_.end(), [this](size_t a, size_t b) { return comes_later(a, b); });
  const size_t branch = waiting_.back();
  waiting_.pop_back();
  return branch;
}

void SortMerge::append_figures(bson::Builder& out) const {
  out.append("dupsTested", fitting_int(static_cast<int64_t>(seen_.size()) + doubles_))
      .append("dupsDropped", fitting_int(doubles_));
}

}  // namespace server::query::exec
