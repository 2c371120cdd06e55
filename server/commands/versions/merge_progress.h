// Tells currentOp how far a merge is.
#pragma once

#include <functional>

#include "versions/database/branched_database.h"

namespace server {

class OperationContext;

// Returns how many versions of documents two commits don't have in common. 0 in place of a commit: nothing.
uint64_t versions_between(storage::Transaction& transaction, versions::BranchedDatabase& database, versions::CommitNumber a,
                          versions::CommitNumber b);

// Returns what a merge calls at each document: it stops with the operation, and shows how many of the merge's steps are done.
// Each version that one of the sides changed since `base` is a step of the plan, and each one that is taken over is another one,
// and one of the unique indexes. `op` outlives it.
std::function<void()> merge_steps(OperationContext& op, storage::Transaction& transaction, versions::BranchedDatabase& database,
                                  versions::CommitNumber base, versions::CommitNumber ours, versions::CommitNumber theirs);

}  // namespace server
