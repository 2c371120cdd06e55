// A commit is run again when somebody changed what it folds since it began. The longer it takes, the surer that is: so from the
// second attempt on those wait for it who would, and at last all who write to the branch.
#pragma once

#include "versions/database/branched_database.h"

namespace versions {

// Of one commit, on one thread.
class CommitAttempts {
 public:
  explicit CommitAttempts(BranchedDatabase& database) : database_(database) {}

  // First thing in the transaction of each.
  void begin(Transaction& transaction, const Branch& branch);

 private:
  static constexpr int beside_inserts_max = 4;

  BranchedDatabase& database_;
  int made_ = 0;
  std::shared_ptr<void> stopped_;
};

}  // namespace versions
