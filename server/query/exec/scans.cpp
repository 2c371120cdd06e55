#include "server/query/exec/scans.h"

#include <algorithm>

#include "base/error.h"
#include "bson/key_types.h"
#include "server/core/text.h"
#include "server/query/exec/key_document.h"
#include "server/query/fitting_int.h"
#include "storage/collections/covered_values.h"

namespace server::query::exec {

using base::ErrorCode;
using base::OperationError;
using storage::Direction;

namespace {

const char* direction_name(Direction direction) {
  return direction == Direction::forward ? "forward" : "backward";
}

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

CollectionScan::CollectionScan(CollectionPtr collection, Direction direction, Filter filter, bool tailable, bool changes)
    : Stage("COLLSCAN"),
      collection_(std::move(collection)),
      direction_(direction),
      filter_(std::move(filter)),
      tailable_(tailable),
      changes_(changes) {}

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
  if (!scan_) return;
  const storage::RecordId last = scan_->record();
  if (!changes_ || !collection_->options().capped || last == 0) return scan_->restore(transaction);
  // In a capped collection a scan takes the lack of its last document as the loss of its place, but here the writer removed it.
  scan_ = collection_->scan(transaction, direction_);
  scan_->seek(direction_ == Direction::forward ? last + 1 : last - 1);
}

void CollectionScan::append_details(bson::Builder& out) const {
  out.append("direction", direction_name(direction_));
}

void CollectionScan::append_figures(bson::Builder& out) const {
  out.append("docsExamined", fitting_int(examined_));
}

IndexScan::IndexScan(std::string name, CollectionPtr collection, IndexPtr index, Options options, IndexScanText text)
    : Stage(std::move(name)),
      collection_(std::move(collection)),
      index_(std::move(index)),
      options_(std::move(options)),
      text_(std::move(text)) {}

void IndexScan::open(storage::Transaction& transaction) {
  cursor_ = collection_->scan(transaction, index_->stored(), options_.direction);
  types_ = dynamic_cast<const storage::EntryTypes*>(cursor_.get());
}

bool IndexScan::next_range() {
  if (range_ == options_.ranges.size()) return false;
  const size_t at = options_.direction == Direction::forward ? range_ : options_.ranges.size() - 1 - range_;
  ++range_;
  ++seeks_;
  cursor_->seek(options_.ranges[at]);
  return in_range_ = true;
}

// Returns false if nothing of the range is left after the skip.
bool IndexScan::leap() {
  const bool forward = options_.direction == Direction::forward;
  storage::KeyRange range = options_.ranges[forward ? range_ - 1 : options_.ranges.size() - range_];
  // No value's bytes begin another's, so every entry that begins with them is to be skipped.
  (forward ? range.from : range.to) = forward ? *leap_ + bson::Bytes(9, '\xff') : *leap_;
  leap_.reset();
  if (!range.to.empty() && range.from >= range.to) return false;
  ++seeks_;
  cursor_->seek(range);
  return true;
}

bool IndexScan::next_entry() {
  return (!leap_ || leap()) && cursor_->next();
}

void IndexScan::plan_leap(bson::BytesView types) {
  const storage::IndexSpec& spec = index_->spec();
  bson::KeyReader reader(cursor_->key(), types);
  bson::Builder values;
  bool there = true;
  for (size_t i = 0; i <= *options_.distinct; ++i) there = !reader.next(spec.fields[i].descending, "", values);
  const bson::Document read = values.done();
  const bool null = !there || [&] {
    bson::ValueView last;
    for (const bson::Element& value : read) last = value;
    return last.type() == bson::Type::null;
  }();
  if (reader.ok() && !null) leap_ = bson::Bytes(cursor_->key().substr(0, reader.read()));
}

// Returns whether entries have the wanted values as the documents do. If an array was inserted since the plan was made, it has an
// entry for each element.
bool IndexScan::has_values() const {
  if (!types_) return false;
  if (!index_->multikey()) [[likely]]
    return true;
  for (size_t i = 0; i < options_.values.size(); ++i) {
    if (options_.values[i] && index_->multikey_field(i)) return false;
  }
  return true;
}

// Reads the document's fields from the entry. Returns false if the document had to be fetched, and is gone.
bool IndexScan::read_document(storage::Transaction& transaction) {
  const auto types = has_values() ? types_->types() : std::nullopt;
  if (types) {
    if (options_.distinct) plan_leap(*types);
    if (auto values = read_values(index_->spec(), cursor_->key(), *types, options_.values)) {
      document_ = *std::move(values);
      return true;
    }
  }
  auto document = collection_->find(transaction, cursor_->record());
  if (!document) return false;
  ++fetched_;
  document_ = *std::move(document);
  return true;
}

Step IndexScan::do_work(storage::Transaction& transaction) {
  if (!cursor_) {
    open(transaction);
    index_->count_access();
  }
  if (!in_range_ && !next_range()) return Step::end;
  if (!next_entry()) {
    in_range_ = false;
    return Step::pending;
  }
  ++examined_;
  if (index_->repeats() && !seen_.insert(cursor_->record()).second) {
    ++doubles_;
    return Step::pending;
  }
  if (options_.values.empty()) return Step::advanced;
  // A count needs no value.
  const bool looks =
      !options_.filter.empty() || std::find(options_.values.begin(), options_.values.end(), true) != options_.values.end();
  if (looks && !read_document(transaction)) return Step::pending;
  return options_.filter.matches(document_) ? Step::advanced : Step::pending;
}

void IndexScan::count(ExecutionStats& total) const {
  total.keys_examined += examined_;
  total.docs_examined += fetched_;
}

void IndexScan::do_save() {
  if (cursor_) cursor_->save();
}

void IndexScan::do_restore(storage::Transaction& transaction) {
  check_alive(*collection_, index_->stored());
  if (!cursor_) return;
  // Between ranges there is no position to restore.
  if (in_range_) {
    cursor_->restore(transaction);
  } else {
    open(transaction);
  }
}

std::string IndexScan::summary() const {
  return name() + " " + show(index_->spec().key);
}

void IndexScan::append_details(bson::Builder& out) const {
  const storage::IndexSpec& spec = index_->spec();
  out.append("keyPattern", spec.key).append("indexName", spec.name);
  if (spec.collator) out.append("collation", spec.collator->specification());
  out.append("isMultiKey", index_->multikey());
  if (!spec.text) {
    auto paths = out.object("multiKeyPaths");
    for (size_t i = 0; i < spec.fields.size(); ++i) {
      auto array = paths.array(spec.fields[i].path);
      for (const std::string& path : index_->multikey_paths(i)) array.append(path);
    }
  }
  out.append("isUnique", spec.unique).append("isSparse", spec.sparse).append("isPartial", !spec.partial_filter.empty());
  out.append("indexVersion", 2);
  if (name() == "COUNT_SCAN") {
    auto bounds = out.object("indexBounds");
    bounds.append("startKey", text_.start_key).append("startKeyInclusive", text_.start_included);
    bounds.append("endKey", text_.end_key).append("endKeyInclusive", text_.end_included);
    return;
  }
  out.append("direction", direction_name(options_.direction));
  auto bounds = out.object("indexBounds");
  for (const auto& [field, intervals] : text_.bounds) {
    auto array = bounds.array(field);
    for (const std::string& interval : intervals) array.append(interval);
  }
}

void IndexScan::append_figures(bson::Builder& out) const {
  out.append("keysExamined", fitting_int(examined_));
  if (name() == "COUNT_SCAN" || name() == "DISTINCT_SCAN") return;
  out.append("seeks", fitting_int(seeks_));
  out.append("dupsTested", fitting_int(static_cast<int64_t>(seen_.size()) + doubles_))
      .append("dupsDropped", fitting_int(doubles_));
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
