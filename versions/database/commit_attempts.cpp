#include "versions/database/commit_attempts.h"

namespace versions {

void CommitAttempts::begin(Transaction& transaction, const Branch& branch) {
  if (made_ == 1) stopped_ = database_.stop_writers(branch.id, Stopped::changes);
  if (made_ == beside_inserts_max) stopped_ = database_.stop_writers(branch.id, Stopped::writes);
  // A transaction that would move the branch, or make another branch from it, waits likewise.
  if (made_ > 0) database_.branches().graph().put_branch(transaction, branch);
  ++made_;
}

}  // namespace versions
