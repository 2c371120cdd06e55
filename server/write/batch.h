// Many small writes in one transaction, failing one by one.
//
// A write that can't be done (a duplicate key, a path that isn't viable) leaves
// nothing behind in the transaction, so those before it are committed and the
// failure is the caller's to keep or to stop at. Only a conflict undoes the
// batch, and then it is run again as a whole.
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
  size_t index = 0;          // everything before it is committed, nothing from it on
  std::exception_ptr error;  // an OperationError; nullptr: what was done so far is enough for one transaction
};

using BatchWork = std::function<void(storage::Transaction& transaction, size_t index)>;

// Runs `work` for 0 … count - 1 and commits; stops at the first that fails, and where `full` says so. May run it for an item
// more than once, but it takes effect once. Throws when the operation was told to stop: then nothing is committed.
std::optional<BatchStop> run_batch(OperationContext& op, size_t count, const BatchWork& work,
                                   const std::function<bool()>& full = nullptr);

// Asked between attempts: counts the conflict and throws when the operation is to stop.
std::function<void()> on_conflict(OperationContext& op);

// As storage::in_transaction, and stops when the operation is told to. What it logs the operation's write concern waits for.
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
