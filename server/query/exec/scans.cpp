#include "server/query/exec/scans.h"

#include "base/error.h"
#include "server/query/fitting_int.h"
#include "server/query/text.h"

namespace server::query::exec {

using base::ErrorCode;
using base::OperationError;
using storage::Direction;

namespace {
const char* direction_name(Direction direction) { return direction == Direction::forward ? "forward" : "backward"; }
}  // namespace

void check_alive(const storage::Collection& collection) {
  if (collection.dropped()) throw OperationError(ErrorCode::query_plan_killed, "collection dropped: " + collection.ns());
}

void check_alive(const storage::Collection& collection, const storage::Index& index) {
  check_alive(collection);
  if (collection.index(index.spec().name).get() != &index) {
    throw OperationError(ErrorCode::query_plan_killed, "index '" + index.spec().name + "' dropped");
  }
}

CollectionScan::CollectionScan(CollectionPtr collection, Direction direction, Filter filter, bool tailable)
    : Stage("COLLSCAN"), collection_(std::move(collection)), direction_(direction), filter_(std::move(filter)), tailable_(tailable) {}

Step CollectionScan::do_work(storage::Transaction& transaction) {
  if (!scan_) {
    scan_ = collection_->scan(transaction, direction_);
    return Step::pending;
  }
  if (!scan_->next()) return Step::end;
  ++examined_;
  return filter_.empty() || filter_.matches(scan_->document()) ? Step::advanced : Step::pending;
}

void CollectionScan::count(ExecutionStats& total) const {
  const storage::ReadInfo now = scan_ ? scan_->read_info() : storage::ReadInfo{};
  total.docs_examined += examined_;
  total.dedup_hops += hops_ + now.hops;
  total.dedup_bytes += decoded_bytes_ + static_cast<int64_t>(now.chain_bytes);
}

void CollectionScan::do_save() {
  if (!scan_) return;
  const storage::ReadInfo info = scan_->read_info();
  hops_ += info.hops;
  decoded_bytes_ += static_cast<int64_t>(info.chain_bytes);
  scan_->save();
}

void CollectionScan::do_restore(storage::Transaction& transaction) {
  check_alive(*collection_);
  if (scan_) scan_->restore(transaction);
}

void CollectionScan::append_details(bson::Builder& out) const {
  out.append("direction", direction_name(direction_));
}

void CollectionScan::append_figures(bson::Builder& out) const { out.append("docsExamined", fitting_int(examined_)); }

IndexScan::IndexScan(std::string name, CollectionPtr collection, IndexPtr index, std::vector<storage::KeyRange> ranges,
                     Direction direction, IndexScanText text)
    : Stage(std::move(name)), collection_(std::move(collection)), index_(std::move(index)), ranges_(std::move(ranges)),
      direction_(direction), text_(std::move(text)) {}

bool IndexScan::next_range() {
  if (range_ == ranges_.size()) return false;
  const size_t at = direction_ == Direction::forward ? range_ : ranges_.size() - 1 - range_;
  ++range_;
  ++seeks_;
  cursor_->seek(ranges_[at]);
  return in_range_ = true;
}

Step IndexScan::do_work(storage::Transaction& transaction) {
  if (!cursor_) {
    cursor_ = collection_->scan(transaction, *index_, direction_);
    index_->count_access();
  }
  if (!in_range_ && !next_range()) return Step::end;
  if (!cursor_->next()) {
    in_range_ = false;
    return Step::pending;
  }
  ++examined_;
  if (index_->multikey() && !seen_.insert(cursor_->record()).second) {
    ++doubles_;
    return Step::pending;
  }
  return Step::advanced;
}

void IndexScan::do_save() {
  if (cursor_) cursor_->save();
}

void IndexScan::do_restore(storage::Transaction& transaction) {
  check_alive(*collection_, *index_);
  if (!cursor_) return;
  // Between ranges there is no place to go back to.
  if (in_range_) {
    cursor_->restore(transaction);
  } else {
    cursor_ = collection_->scan(transaction, *index_, direction_);
  }
}

std::string IndexScan::summary() const { return name() + " " + show(index_->spec().key); }

void IndexScan::append_details(bson::Builder& out) const {
  const storage::IndexSpec& spec = index_->spec();
  out.append("keyPattern", spec.key).append("indexName", spec.name).append("isMultiKey", index_->multikey());
  {
    auto paths = out.object("multiKeyPaths");
    for (size_t i = 0; i < spec.fields.size(); ++i) {
      auto array = paths.array(spec.fields[i].path);
      if (index_->multikey_field(i)) array.append(spec.fields[i].path);
    }
  }
  out.append("isUnique", spec.unique).append("isSparse", spec.sparse).append("isPartial", !spec.partial_filter.empty());
  out.append("indexVersion", 2).append("direction", direction_name(direction_));
  auto bounds = out.object("indexBounds");
  for (const auto& [field, intervals] : text_.bounds) {
    auto array = bounds.array(field);
    for (const std::string& interval : intervals) array.append(interval);
  }
}

void IndexScan::append_figures(bson::Builder& out) const {
  out.append("keysExamined", fitting_int(examined_)).append("seeks", fitting_int(seeks_));
  out.append("dupsTested", fitting_int(static_cast<int64_t>(seen_.size()) + doubles_)).append("dupsDropped", fitting_int(doubles_));
}

Step IdLookup::do_work(storage::Transaction& transaction) {
  if (done_) return Step::end;
  done_ = true;
  const auto record = collection_->find_id(transaction, id_);
  if (!record) return Step::end;
  record_ = *record;
  if (fetch_) {
    auto document = collection_->find(transaction, record_, &info_);
    if (!document) return Step::end;
    document_ = std::move(*document);
  }
  return Step::advanced;
}

void IdLookup::count(ExecutionStats& total) const {
  total.keys_examined += record_ ? 1 : 0;
  total.docs_examined += record_ && fetch_ ? 1 : 0;
  total.dedup_hops += info_.hops;
  total.dedup_bytes += static_cast<int64_t>(info_.chain_bytes);
}

void IdLookup::append_figures(bson::Builder& out) const {
  out.append("keysExamined", record_ ? 1 : 0).append("docsExamined", record_ && fetch_ ? 1 : 0);
}

}  // namespace server::query::exec
