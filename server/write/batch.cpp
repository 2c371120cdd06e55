#include "server/write/batch.h"

#include "server/operation.h"
#include "server/write/target.h"
#include "storage/transaction.h"

namespace server::write {

std::function<void()> on_conflict(OperationContext& op) {
  return [&op] {
    ++op.counts.write_conflicts;
    op.check_interrupt();
  };
}

std::optional<BatchFailure> run_batch(OperationContext& op, size_t count, const BatchWork& work) {
  return storage::in_transaction(
      engine_of(op),
      [&](storage::Transaction& transaction) -> std::optional<BatchFailure> {
        transaction.expect_stamps(count);
        for (size_t i = 0; i < count; ++i) {
          try {
            work(transaction, i);
          } catch (const storage::WriteConflict&) {
            throw;
          } catch (const base::OperationError&) {
            op.check_interrupt();
            return BatchFailure{i, std::current_exception()};
          }
        }
        return std::nullopt;
      },
      on_conflict(op));
}

}  // namespace server::write
