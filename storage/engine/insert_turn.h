// Transactions that insert into a capped collection take turns. So the order of the records is the order of their timestamps, in
// which other members insert them, and a transaction finds out whether the collection is full from counts that nobody else is
// changing.
#pragma once

#include "base/mutex.h"
#include "storage/engine/transaction.h"

namespace storage {

// The class is thread-safe.
class InsertTurn {
 public:
  // Gives the transaction the turn until it is over; it is called before the transaction's first timestamp. Returns false if the
  // transaction had the turn already. Throws WriteConflict if the wait took too long, as it does when two transactions wait for
  // each other.
  bool take(const Transaction& transaction);
  void give_back();

 private:
  base::Mutex mutex_;
  base::Condition given_back_;
  const Transaction* holder_ GUARDED_BY(mutex_) = nullptr;
};

}  // namespace storage
