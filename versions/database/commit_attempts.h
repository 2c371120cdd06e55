// A commit runs again if somebody changed what it folds since it began, and the longer it takes, the likelier that is. So from
// the second attempt on, writers wait for it that would change what it folds, and at last all writers of the branch.
#pragma once

#include "versions/database/branched_database.h"

namespace versions {

// CommitAttempts are those of one commit, on one thread.
class CommitAttempts {
 public:
  explicit CommitAttempts(BranchedDatabase& database) : database_(database) {}

  // Must be called first in each attempt's transaction.
  void begin(Transaction& transaction, const Branch& branch);

 private:
  static constexpr int beside_inserts_max = 4;

  BranchedDatabase& database_;
  int made_ = 0;
  std::shared_ptr<void> stopped_;
};

}  // namespace versions
