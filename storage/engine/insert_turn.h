// Inserts into a capped collection take turns, a transaction at a time: the order
// of its records is then the order of their stamps, which is how other members
// insert them. What is full is told by counts that nobody else is changing.
#pragma once

#include <condition_variable>
#include <mutex>

#include "storage/engine/transaction.h"

namespace storage {

// Thread-safe.
class InsertTurn {
 public:
  // The transaction has the turn until it is over; before its first stamp. False: it had it already. Throws WriteConflict where
  // it took too long, as it does when two transactions wait for each other.
  bool take(const Transaction& transaction);
  void give_back();

 private:
  std::mutex mutex_;
  std::condition_variable given_back_;
  const Transaction* holder_ = nullptr;
};

}  // namespace storage
