#include "server/write/measurements.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"
#include "bson/builder.h"
#include "server/core/metrics.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/executor.h"
#include "server/query/series/bucket.h"
#include "server/query/series/bucket_index.h"
#include "server/write/batch.h"
#include "server/write/document_writer.h"
#include "server/write/retry.h"
#include "server/write/storable.h"
#include "server/write/target.h"

namespace server::write {

using base::ErrorCode;
using base::OperationError;
using query::BucketBuilder;
using query::SeriesOptions;

namespace {

constexpr size_t batch_documents_max = 500;
constexpr size_t batch_bytes_max = 2 << 20;
// A search for a bucket that has room ends after so many that have none.
constexpr int candidates_max = 100;
// Measurements stand deeper in a bucket than in a document: control.min.field.
constexpr int bucket_levels = 3;

// The other errors refuse any measurement.
bool is_of_a_measurement(ErrorCode code) {
  switch (code) {
    case ErrorCode::out_of_disk_space:
    case ErrorCode::not_writable_primary:
    case ErrorCode::exceeded_memory_limit:
    case ErrorCode::namespace_not_found:
    case ErrorCode::data_corruption_detected: return false;
    default: return true;
  }
}

struct Measurement {
  bson::Document document;
  int64_t time_ms = 0;
  size_t place = 0;  // among the batch's documents
};

// A Group is the measurements of one meta.
struct Group {
  bson::Value meta;
  std::vector<Measurement> measurements;
};

// A part of the command's documents, sorted into groups; `error` is that of the document after them.
struct Batch {
  std::vector<Group> groups;
  size_t count = 0;
  std::exception_ptr error;
};

Measurement read(OperationContext& op, const SeriesOptions& series, bson::DocumentView given, bool keep_empty_timestamps) {
  auto repaired = make_storable(given, keep_empty_timestamps ? std::nullopt : std::optional(unique_timestamp(op)));
  Measurement measurement;
  measurement.document = repaired ? std::move(*repaired) : bson::Document(given);
  measurement.time_ms = query::check_measurement(series, measurement.document);
  for (const auto& field : measurement.document) check_depth(field, 1 + bucket_levels);
  return measurement;
}

Batch make_batch(OperationContext& op, const SeriesOptions& series, const std::vector<bson::DocumentView>& documents,
                 size_t first, size_t count_max, bool keep_empty_timestamps) {
  Batch batch;
  std::map<std::pair<bson::Type, bson::Bytes>, size_t> known;
  size_t bytes = 0;
  for (size_t i = first; i < documents.size() && batch.count < count_max && bytes < batch_bytes_max; ++i) {
    try {
      Measurement measurement = read(op, series, documents[i], keep_empty_timestamps);
      measurement.place = batch.count;
      bson::Value meta;
      if (!series.meta_field.empty()) meta = query::normalized_meta(measurement.document[series.meta_field]);
      const auto [at, made] = known.emplace(std::pair(meta.type(), bson::Bytes(meta.view().bytes())), batch.groups.size());
      if (made) batch.groups.push_back({std::move(meta), {}});
      batch.groups[at->second].measurements.push_back(std::move(measurement));
    } catch (const OperationError&) {
      batch.error = std::current_exception();
      break;
    }
    bytes += documents[i].size();
    ++batch.count;
  }
  for (Group& group : batch.groups) {
    std::stable_sort(group.measurements.begin(), group.measurements.end(),
                     [](const Measurement& a, const Measurement& b) { return a.time_ms < b.time_ms; });
  }
  return batch;
}

// Finds buckets, and adds measurements to them, in one transaction.
class BucketWriter {
 public:
  BucketWriter(OperationContext& op, storage::Transaction& transaction, const Target& target, DocumentWriter& writer,
               const SeriesOptions& series)
      : op_(op), transaction_(transaction), target_(target), writer_(writer), series_(series), ns_(target->ns()) {
    const bson::Document key = query::default_key(series);
    for (const auto& index : target->indexes()) {
      const storage::IndexSpec& spec = index->spec();
      if (!index->ready() || spec.hidden || !spec.partial_filter.empty() || series.meta_field.empty()) continue;
      if (begins_with(spec.key, key)) by_meta_ = spec.name;
    }
  }

  // Adds the measurements; a statement that is to be retried has a write of its own.
  template <class PlaceOf>
  void add(const Group& group, const PlaceOf& place_of) {
    for (const Measurement& one : group.measurements) {
      if (!open_ || !open_->builder.fits(one.document, one.time_ms)) {
        write();
        open(group.meta, one);
      }
      open_->builder.add(one.document);
      open_->changed = true;
      if (!op_.retry) continue;
      op_.retry->at(place_of(one.place));
      write();
    }
    write();
    open_.reset();
  }

 private:
  struct Open {
    BucketBuilder builder;
    std::optional<storage::RecordId> record;  // nullopt: the bucket isn't stored yet
    bson::Document before;
    bool changed = false;
  };

  static bool begins_with(bson::DocumentView key, bson::DocumentView with) {
    auto at = key.begin();
    for (const auto& field : with) {
      if (at == key.end() || at->name != field.name || !at->is_number()) return false;
      ++at;
    }
    return true;
  }

  void write() {
    if (!open_ || !open_->changed) return;
    bson::Document after = open_->builder.document();
    if (open_->record) {
      writer_.update(transaction_, *open_->record, open_->before, after);
      // On a branch the bucket may have another record now.
      open_->record = target_->current(transaction_, *open_->record);
    } else {
      open_->record = writer_.insert(transaction_, after);
    }
    if (!open_->record) return open_.reset();
    open_->before = std::move(after);
    open_->changed = false;
  }

  void open(const bson::Value& meta, const Measurement& one) {
    open_.reset();
    find(meta, one);
    if (open_) return;
    const bson::Collator* const collator = target_->options().collator.get();
    open_.emplace(
        Open{BucketBuilder(series_, meta, series_.rounded(one.time_ms), collator), std::nullopt, bson::Document(), false});
  }

  // Looks for a bucket that takes the measurement.
  void find(const bson::Value& meta, const Measurement& one) {
    query::Query query;
    query.ns = ns_;
    query.filter = filter(meta, one.time_ms);
    query.hint = by_meta_.empty() ? id_key() : bson::Value(by_meta_);
    const auto executor = query::make_executor(op_, transaction_, target_.shared(), query);
    for (int tried = 0; tried < candidates_max && executor->next(); ++tried) {
      const bson::DocumentView bucket = executor->document();
      if (!bson::ValueView(bucket["meta"]).identical(meta) || !query::has_bucket_shape(series_, bucket)) continue;
      BucketBuilder builder(series_, bucket, target_->options().collator.get());
      if (!builder.fits(one.document, one.time_ms)) continue;
      open_.emplace(Open{std::move(builder), executor->record(), bson::Document(bucket), false});
      return;
    }
  }

  static bson::Value id_key() {
    bson::Builder key;
    key.append("_id", 1);
    return bson::Value(key.done());
  }

  // Buckets of the meta that began less than a span before the time, and have room.
  bson::Document filter(const bson::Value& meta, int64_t time_ms) const {
    int64_t begun_after = 0;
    if (__builtin_sub_overflow(time_ms, series_.span_ms(), &begun_after)) begun_after = INT64_MIN;
    bson::Builder filter;
    if (meta.exists())
      filter.object("meta").append("$eq", meta);
    else
      filter.object("meta").append("$exists", false);
    {
      bson::Builder min = filter.object("control.min." + series_.time_field);
      min.append("$gt", bson::Date{begun_after}).append("$lte", bson::Date{time_ms});
    }
    if (by_meta_.empty()) {
      bson::Builder id = filter.object("_id");
      id.append("$gte", query::bucket_id_bound(begun_after, false)).append("$lte", query::bucket_id_bound(time_ms, true));
    }
    filter.append("control.version", 1);  // nothing is added to compressed buckets
    filter.object("control.closed").append("$ne", true);
    filter.object("data." + series_.time_field + "." + std::to_string(query::bucket_measurements_max - 1))
        .append("$exists", false);
    return filter.done();
  }

  OperationContext& op_;
  storage::Transaction& transaction_;
  const Target& target_;
  DocumentWriter& writer_;
  const SeriesOptions& series_;
  const std::string ns_;
  std::string by_meta_;  // the index on meta and time; empty: there is none
  std::optional<Open> open_;
};

[[noreturn]] void not_there(std::string_view ns) {
  throw OperationError(ErrorCode::namespace_not_found, "the time-series collection " + std::string(ns) + " was dropped");
}

}  // namespace

InsertOutcome insert_measurements(OperationContext& op, std::string_view ns, const std::vector<bson::DocumentView>& documents,
                                  const InsertOptions& options) {
  if (op.in_transaction) {
    throw OperationError(ErrorCode::operation_not_supported_in_transaction,
                         "Cannot insert into a time-series collection in a multi-document transaction: " + std::string(ns));
  }
  InsertOutcome outcome;
  const auto place_of = [&](size_t index) { return options.places.empty() ? index : options.places[index]; };
  const std::string buckets = query::buckets_of(ns);
  if (op.retry) op.retry->batch(true);
  size_t at = 0, at_once = batch_documents_max;
  while (at < documents.size() && (outcome.errors.empty() || !options.ordered)) {
    op.check_interrupt();
    Batch batch;
    try {
      const Target target = Target::open(op, buckets);
      const auto series = target ? query::read_series_options(target->options().document) : std::nullopt;
      if (!series) not_there(ns);
      batch = make_batch(op, *series, documents, at, at_once, options.keep_empty_timestamps);
      DocumentWriter writer(op, target, Validate::never);
      if (batch.count > 0) {
        in_transaction(op, [&](storage::Transaction& transaction) {
          transaction.expect_stamps(batch.count);
          if (op.retry) op.retry->begin();
          BucketWriter buckets_writer(op, transaction, target, writer, *series);
          for (const Group& group : batch.groups) buckets_writer.add(group, [&](size_t place) { return place_of(at + place); });
          if (op.retry) op.retry->save(transaction);
        });
      }
      outcome.inserted += static_cast<int64_t>(batch.count);
      at += batch.count;
      at_once = std::min(2 * at_once, batch_documents_max);
    } catch (const OperationError& error) {
      // Nothing of the batch is inserted. Smaller batches find out which measurement is to blame.
      op.check_interrupt();
      if (batch.count > 1 && is_of_a_measurement(error.code())) {
        at_once = batch.count / 2;
        continue;
      }
      const size_t end = at + std::max<size_t>(1, batch.count);
      while (at < end && (outcome.errors.empty() || !options.ordered)) outcome.errors.add(place_of(at++), error);
      continue;
    }
    if (batch.error) outcome.errors.add(place_of(at++), batch.error);
  }
  op.services().metrics.documents.inserted.add(outcome.inserted);
  op.counts.inserted = outcome.inserted;
  return outcome;
}

}  // namespace server::write
