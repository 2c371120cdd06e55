#include "server/write/insert.h"

#include "server/metrics.h"
#include "server/operation.h"
#include "server/services.h"
#include "server/write/batch.h"
#include "server/write/document_writer.h"
#include "server/write/storable.h"
#include "server/write/target.h"

namespace server::write {

namespace {

// One transaction's worth: enough to spread a commit's cost, little enough to be done again after a conflict.
constexpr size_t batch_documents_max = 500;
constexpr size_t batch_bytes_max = 2 * 1024 * 1024;

// The documents [first, first + views.size()), as they will be stored; `error` is of the one behind them.
struct Prepared {
  std::vector<bson::DocumentView> views;
  std::vector<bson::Document> repaired;
  std::exception_ptr error;
};

Prepared prepare(OperationContext& op, const std::vector<bson::DocumentView>& documents, size_t first) {
  Prepared prepared;
  const size_t count_max = std::min(documents.size() - first, batch_documents_max);
  prepared.repaired.reserve(count_max);  // views point into it
  size_t bytes = 0;
  for (size_t i = first; i < first + count_max && bytes < batch_bytes_max; ++i) {
    try {
      auto repaired = make_storable(documents[i], unique_timestamp(op));
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

}  // namespace

InsertOutcome insert_documents(OperationContext& op, std::string_view ns, const std::vector<bson::DocumentView>& documents,
                               bool ordered) {
  InsertOutcome outcome;
  size_t at = 0;
  while (at < documents.size()) {
    op.check_interrupt();
    const Prepared prepared = prepare(op, documents, at);
    const Target target = Target::open_or_create(op, ns);
    DocumentWriter writer(op, target);
    const auto failure = run_batch(op, 0, prepared.views.size(), nullptr, [&](storage::Transaction& transaction, size_t i) {
      writer.insert(transaction, prepared.views[i]);
    });
    const size_t done = failure ? failure->index : prepared.views.size();
    outcome.inserted += static_cast<int64_t>(done);
    at += done;
    const std::exception_ptr error = failure ? failure->error : prepared.error;
    if (!error) continue;
    outcome.errors.add(at++, error);
    if (ordered) break;
  }
  op.services().metrics.documents.inserted.add(outcome.inserted);
  op.counts.inserted = outcome.inserted;
  return outcome;
}

}  // namespace server::write
