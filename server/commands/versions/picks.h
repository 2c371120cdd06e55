// A rebase picks the commits that a branch has and the state it moves onto hasn't.
#pragma once

#include <vector>

#include "server/commands/versions/merge_request.h"

namespace server {

// Returns these commits, parents before children, without merges: what those took from other lines is picked from there. Throws
// IllegalOperation if retention has dropped one of them.
std::vector<versions::CommitNumber> commits_to_pick(storage::Transaction& transaction, versions::BranchedDatabase& database,
                                                    versions::CommitNumber head, versions::CommitNumber onto);
// Returns those of a rebase that has begun.
std::vector<versions::CommitNumber> commits_to_pick(storage::Transaction& transaction, versions::BranchedDatabase& database,
                                                    const MergeRequest::Rebase& rebase);

// Returns whether the line of first parents leads from the commit to the other one, over commits that are no merges.
bool is_line(storage::Transaction& transaction, versions::BranchedDatabase& database, versions::CommitNumber from,
             versions::CommitNumber to);

}  // namespace server
