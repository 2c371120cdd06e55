#include "server/write/copy.h"

#include <array>

#include "server/core/operation.h"
#include "server/write/batch.h"
#include "server/write/document_writer.h"
#include "server/write/target.h"
#include "storage/engine/transaction.h"
#include "storage/store.h"

namespace server::write {

namespace {

constexpr size_t copied_at_once = 500, copied_bytes_at_once = 2 << 20;

}  // namespace

std::vector<base::ExclusiveHold> hold_both(OperationContext& op, storage::Collection& a, storage::Collection& b) {
  return base::hold_exclusively(std::array{&a.schema_mutex(), &b.schema_mutex()}, op.interrupted());
}

void copy_documents(OperationContext& op, storage::Collection& from, const std::shared_ptr<storage::Collection>& into,
                    int64_t skip_bytes) {
  const Target target = Target::held(into);
  DocumentWriter writer(op, target, Validate::never);
  Progress progress{.what = "copying documents", .done = 0, .total = from.record_count()};
  storage::Transaction reading(store_of(op), storage::Transaction::Mode::read);
  const auto scan = from.scan(reading, storage::Direction::forward);
  for (bool more = true; more;) {
    op.check_interrupt();
    op.set_progress(progress);
    std::vector<bson::Document> some;
    for (size_t bytes = 0; some.size() < copied_at_once && bytes < copied_bytes_at_once && (more = scan->next());
         ++progress.done) {
      const bson::DocumentView document = scan->document();
      if (skip_bytes > 0) {
        skip_bytes -= static_cast<int64_t>(document.size());
        if (progress.done % static_cast<int64_t>(copied_at_once) == 0) op.check_interrupt();
        continue;
      }
      bytes += some.emplace_back(document).size();
    }
    const auto failure =
        run_batch(op, some.size(), [&](storage::Transaction& transaction, size_t i) { writer.insert(transaction, some[i]); });
    if (failure) std::rethrow_exception(failure->error);
  }
}

}  // namespace server::write
