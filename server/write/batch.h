// Many small writes in few transactions, with the outcome of one transaction each.
//
//   d0 d1 d2 d3 d4 …     one transaction
//         ^ fails        undone; d0 d1 once more, committed; d2's error is the
//                        caller's to keep or to stop at; on from d3
//
// So the work for an item may be run several times, but takes effect once.
#pragma once

#include <exception>
#include <functional>
#include <optional>

#include "base/error.h"

namespace storage {
class Transaction;
}

namespace server {
class OperationContext;
}

namespace server::write {

struct BatchFailure {
  size_t index = 0;              // everything before it is committed, nothing from it on
  std::exception_ptr error;      // an OperationError
};

using BatchWork = std::function<void(storage::Transaction& transaction, size_t index)>;

// Runs `work` for [first, last) in order. Conflicts are retried within; interrupts are thrown. nullopt: all
// are committed. `begin` is called whenever a transaction starts over, before the first item.
std::optional<BatchFailure> run_batch(OperationContext& op, size_t first, size_t last, const std::function<void()>& begin,
                                      const BatchWork& work);

// Asked between attempts: counts the conflict and throws when the operation is to stop.
std::function<void()> on_conflict(OperationContext& op);

}  // namespace server::write
