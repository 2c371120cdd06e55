#include "server/write/batch.h"

#include "server/core/metrics.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/write/target.h"
#include "storage/engine/transaction.h"
#include "storage/store.h"

namespace server::write {

std::function<void()> on_conflict(OperationContext& op) {
  return [&op] {
    ++op.counts.write_conflicts;
    // It is counted at once: whoever looks for what holds up writers sees those that go on waiting.
    op.services().metrics.operation_ends.write_conflicts.add();
    op.check_interrupt();
  };
}

std::optional<BatchStop> run_batch(OperationContext& op, size_t count, const BatchWork& work, const std::function<bool()>& full) {
  return in_own_or_draft(op, [&](storage::Transaction& transaction) -> std::optional<BatchStop> {
    transaction.expect_stamps(count);
    for (size_t i = 0; i < count; ++i) {
      try {
        work(transaction, i);
      } catch (const base::OperationError&) {
        op.check_interrupt();
        return BatchStop{i, std::current_exception()};
      }
      if (full && full() && i + 1 < count) return BatchStop{i + 1, nullptr};
    }
    return std::nullopt;
  });
}

}  // namespace server::write
