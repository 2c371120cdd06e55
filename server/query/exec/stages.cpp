#include "server/query/exec/stages.h"

#include "server/query/plan/plan_bytes.h"
#include "storage/indexes/index_keys.h"

namespace server::query::exec {

Step Fetch::do_work(storage::Transaction& transaction) {
  const Step step = child().work(transaction);
  if (step != Step::advanced) return step;
  storage::ReadInfo info;
  auto document = collection_->find(transaction, child().record(), &info);
  if (!document) return Step::pending;  // it was removed after its index entry was read
  ++examined_;
  hops_ += info.hops;
  decoded_bytes_ += static_cast<int64_t>(info.chain_bytes);
  document_ = std::move(*document);
  return filter_.matches(document_) ? Step::advanced : Step::pending;
}

void Fetch::count(ExecutionStats& total) const {
  total.docs_examined += examined_;
  total.dedup_hops += hops_;
  total.dedup_bytes += decoded_bytes_;
  Stage::count(total);
}

void Fetch::append_figures(bson::Builder& out) const {
  out.append("docsExamined", fitting_int(examined_)).append("alreadyHasObj", 0);
}

Or::Or(std::vector<StagePtr> branches) : Stage("OR") {
  children_ = std::move(branches);
}

Step Or::do_work(storage::Transaction& transaction) {
  const Step step = children_[current_]->work(transaction);
  if (step == Step::end) {
    if (current_ + 1 == children_.size()) return Step::end;
    ++current_;
    return Step::pending;
  }
  if (step == Step::advanced && !seen_.insert(record()).second) {
    ++doubles_;
    return Step::pending;
  }
  return step;
}

void Or::append_figures(bson::Builder& out) const {
  out.append("dupsTested", fitting_int(static_cast<int64_t>(seen_.size()) + doubles_))
      .append("dupsDropped", fitting_int(doubles_));
}

Step Skip::do_work(storage::Transaction& transaction) {
  const Step step = child().work(transaction);
  if (step != Step::advanced || left_ == 0) return step;
  --left_;
  return Step::pending;
}

Step Limit::do_work(storage::Transaction& transaction) {
  if (left_ == 0) return Step::end;
  const Step step = child().work(transaction);
  if (step == Step::advanced) --left_;
  return step;
}

Step Project::do_work(storage::Transaction& transaction) {
  const Step step = child().work(transaction);
  if (step != Step::advanced) return step;
  document_ = bson::Document();
  held_.set(0);
  document_ = projection_.apply(child().document());
  if (document_.size() > plan::few_bytes) held_.set(document_.size());
  return step;
}

// An entry's bytes don't have the types of numbers, but the document does: the entry's key is the one of the document's keys that
// has the same bytes.
Step ReturnKey::do_work(storage::Transaction& transaction) {
  const Step step = child().work(transaction);
  if (step != Step::advanced) return step;
  document_ = index_ && !child().key().empty()
                  ? storage::index_key_values(index_->stored().spec(), child().document(), child().key())
                  : bson::Document();
  return step;
}

Step ShowRecordId::do_work(storage::Transaction& transaction) {
  const Step step = child().work(transaction);
  if (step == Step::advanced) {
    document_ = bson::Builder().append_all(child().document()).append("$recordId", static_cast<int64_t>(record())).done();
  }
  return step;
}

}  // namespace server::query::exec
