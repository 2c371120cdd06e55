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

std::optional<BatchFailure> run_batch(OperationContext& op, size_t first, size_t last, const std::function<void()>& begin,
                                      const BatchWork& work) {
  std::optional<BatchFailure> failure;
  while (first < last) {
    size_t at = first;
    try {
      storage::in_transaction(
          engine_of(op),
          [&](storage::Transaction& transaction) {
            if (begin) begin();
            for (at = first; at < last; ++at) work(transaction, at);
          },
          on_conflict(op));
      return failure;
    } catch (const storage::WriteConflict&) {
      throw;
    } catch (const base::OperationError&) {
      // An operation that was told to stop stops; everything else is this item's own failure.
      op.check_interrupt();
      if (at >= last) throw;
      failure = BatchFailure{at, std::current_exception()};
      last = at;
    }
  }
  return failure;
}

}  // namespace server::write
