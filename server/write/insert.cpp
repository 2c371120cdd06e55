#include "server/write/insert.h"

#include "server/core/metrics.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/series/bucket.h"
#include "server/query/views.h"
#include "server/write/batch.h"
#include "server/write/document_writer.h"
#include "server/write/measurements.h"
#include "server/write/retry.h"
#include "server/write/storable.h"
#include "server/write/target.h"
#include "storage/engine/transaction.h"

namespace server::write {

namespace {

// One transaction has at most this many documents: enough to spread a commit's cost, and few enough to insert again after a
// conflict.
constexpr size_t batch_documents_max = 500;
constexpr size_t batch_bytes_max = 2 * 1024 * 1024;

// The documents [first, first + views.size()), as they will be stored; `error` is that of the document after them.
struct Prepared {
  std::vector<bson::DocumentView> views;
  std::vector<bson::Document> repaired;
  std::exception_ptr error;
};

Prepared prepare(OperationContext& op, const std::vector<bson::DocumentView>& documents, size_t first, bool keep_empty_timestamps,
                 const std::optional<query::SeriesOptions>& buckets_of) {
  Prepared prepared;
  const size_t count_max = std::min(documents.size() - first, batch_documents_max);
  prepared.repaired.reserve(count_max);  // views point into it
  size_t bytes = 0;
  for (size_t i = first; i < first + count_max && bytes < batch_bytes_max; ++i) {
    try {
      auto repaired = make_storable(documents[i], keep_empty_timestamps ? std::nullopt : std::optional(unique_timestamp(op)));
      if (buckets_of) query::check_bucket(*buckets_of, repaired ? repaired->view() : documents[i]);
      if (repaired) prepared.repaired.push_back(std::move(*repaired));
      prepared.views.push_back(repaired ? prepared.repaired.back().view() : documents[i]);
    } catch (const base::OperationError&) {
      prepared.error = std::current_exception();
      break;
    }
    bytes += documents[i].size();
  }
  return prepared;
}

// The result of one transaction: the first `done` documents were tried, and all but the failed ones are inserted.
struct Attempt {
  size_t done = 0;
  std::vector<std::pair<size_t, std::exception_ptr>> failed;
};

template <class PlaceOf>
Attempt insert_batch(OperationContext& op, DocumentWriter& writer, const std::vector<bson::DocumentView>& documents,
                     size_t stamps_each, bool ordered, const PlaceOf& place_of) {
  return in_own_or_draft(op, [&](storage::Transaction& transaction) {
    Attempt attempt;
    transaction.expect_stamps(documents.size() * stamps_each);
    if (op.retry) op.retry->begin();
    for (; attempt.done < documents.size(); ++attempt.done) {
      if (op.retry) op.retry->at(place_of(attempt.done));
      try {
        writer.insert(transaction, documents[attempt.done]);
      } catch (const base::OperationError&) {
        // A failed document leaves nothing behind in the transaction, so the others may go on in it.
        op.check_interrupt();
        attempt.failed.emplace_back(attempt.done, std::current_exception());
        if (ordered) break;
      }
    }
    if (op.retry) op.retry->save(transaction);
    return attempt;
  });
}

}  // namespace

InsertOutcome insert_documents(OperationContext& op, std::string_view ns, const std::vector<bson::DocumentView>& documents,
                               const InsertOptions& options) {
  if (query::find_series(op, std::string(ns))) return insert_measurements(op, ns, documents, options);
  const auto buckets_of = query::series_of_buckets(op, std::string(ns));
  InsertOutcome outcome;
  const bool ordered = options.ordered || op.transaction;  // an error ends a transaction
  const auto place_of = [&](size_t index) { return options.places.empty() ? index : options.places[index]; };
  if (op.retry) op.retry->batch(true);
  size_t at = 0;
  while (at < documents.size() && (outcome.errors.empty() || !ordered)) {
    op.check_interrupt();
    const Prepared prepared = prepare(op, documents, at, options.keep_empty_timestamps, buckets_of);
    Target target;
    try {
      target = Target::open_or_create(op, ns);
    } catch (const base::OperationError& error) {
      // Every document in the batch gets the same error, as update statements do.
      op.check_interrupt();
      const size_t refused = ordered ? 1 : prepared.views.size() + (prepared.error ? 1 : 0);
      for (size_t i = 0; i < refused; ++i) outcome.errors.add(place_of(at++), error);
      continue;
    }
    DocumentWriter writer(op, target);
    // in a full capped collection each insert also removes a document
    const size_t stamps_each = target->options().capped ? 2 : 1;
    const Attempt attempt =
        insert_batch(op, writer, prepared.views, stamps_each, ordered, [&](size_t index) { return place_of(at + index); });
    for (const auto& [index, error] : attempt.failed) outcome.errors.add(place_of(at + index), error);
    const size_t tried = attempt.done + (ordered ? attempt.failed.size() : 0);
    outcome.inserted += static_cast<int64_t>(tried - attempt.failed.size());
    const bool stopped = ordered && !attempt.failed.empty();
    at += tried;
    if (prepared.error && !stopped) outcome.errors.add(place_of(at++), prepared.error);
  }
  op.services().metrics.documents.inserted.add(outcome.inserted);
  op.counts.inserted = outcome.inserted;
  return outcome;
}

}  // namespace server::write
