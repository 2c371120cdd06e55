#include "server/query/exec/and_sorted.h"

#include "server/query/fitting_int.h"

namespace server::query::exec {

namespace {

// Plans race by units of work. A unit of other plans is an entry and its document; this many entries alone take no longer.
constexpr int entries_per_work = 4;

}  // namespace

AndSorted::AndSorted(std::vector<StagePtr> scans) : Stage("AND_SORTED"), failed_(scans.size()) {
  children_ = std::move(scans);
}

Step AndSorted::do_work(storage::Transaction& transaction) {
  // To open a scan takes as long as to read a document.
  const int entries = children_[next_]->stats().works == 0 ? 1 : entries_per_work;
  for (int i = 0; i < entries; ++i) {
    const Step step = this->step(transaction);
    if (step != Step::pending) return step;
  }
  return Step::pending;
}

// Moves one scan by one entry.
Step AndSorted::step(storage::Transaction& transaction) {
  const Step step = children_[next_]->work(transaction);
  if (step != Step::advanced) return step;
  const storage::RecordId record = children_[next_]->record();
  if (record < target_) {
    ++failed_[next_];
    return Step::pending;
  }
  if (record > target_) {
    target_ = record;
    agreeing_ = 0;
  }
  ++agreeing_;
  next_ = (next_ + 1) % children_.size();
  if (agreeing_ < children_.size()) return Step::pending;
  agreeing_ = 0;
  return Step::advanced;
}

void AndSorted::append_figures(bson::Builder& out) const {
  for (size_t i = 0; i < failed_.size(); ++i) out.append("failedAnd_" + std::to_string(i), fitting_int(failed_[i]));
}

}  // namespace server::query::exec
