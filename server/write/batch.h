// A batch is many small writes in one transaction that fail one by one.
//
// A write that fails (a duplicate key, a path that isn't viable) leaves nothing
// behind in the transaction, so the writes before it are committed, and the caller
// decides whether to go on after the failure. Only a conflict undoes the batch;
// then it is run again as a whole.
#pragma once

#include <algorithm>
#include <exception>
#include <functional>
#include <optional>

#include "base/error.h"
#include "server/core/operation.h"
#include "server/write/target.h"
#include "storage/engine/transaction.h"
#include "storage/store.h"

namespace server::write {

struct BatchStop {
  size_t index = 0;          // the writes before it are committed; it and those after it are not
  std::exception_ptr error;  // an OperationError; nullptr: the batch is large enough for one transaction
};

using BatchWork = std::function<void(storage::Transaction& transaction, size_t index)>;

// Runs `work` for 0 … count - 1 and commits; stops at the first item that fails, or when `full` returns true. An item may run
// more than once, but it takes effect once. Throws if the operation is interrupted: then nothing is committed.
std::optional<BatchStop> run_batch(OperationContext& op, size_t count, const BatchWork& work,
                                   const std::function<bool()>& full = nullptr);

// Returns a function that is called between attempts: it counts the conflict, and throws if the operation is to stop.
std::function<void()> on_conflict(OperationContext& op);

// Runs `work` in a storage transaction of its own and commits it, and does so again after each conflict. In a client's
// transaction `work` runs once, in that one's draft: a conflict aborts it.
template <class Work>
auto in_own_or_draft(OperationContext& op, Work&& work) {
  if (op.transaction) return work(*op.transaction->draft());
  return storage::in_transaction(store_of(op), std::forward<Work>(work), on_conflict(op));
}

// Works as storage::in_transaction, and stops when the operation is interrupted. The operation's write concern waits for the
// entries that it logs.
template <class Work>
auto in_transaction(OperationContext& op, Work&& work) {
  return storage::in_transaction(
      store_of(op),
      [&](storage::Transaction& transaction) {
        transaction.after_commit([&] { op.last_write = std::max(op.last_write, transaction.newest_stamp()); });
        return work(transaction);
      },
      on_conflict(op));
}

}  // namespace server::write
