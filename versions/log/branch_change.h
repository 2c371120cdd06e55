// A BranchChange is any log entry about the branches of a database.
#pragma once

#include <variant>

#include "versions/log/branch_entries.h"
#include "versions/log/collection_entries.h"
#include "versions/log/commit_entries.h"
#include "versions/log/merge_entries.h"
#include "versions/log/retention_entries.h"

namespace versions::log {

using BranchChange =
    std::variant<BeginBranches, CreateBranch, DropBranch, RenameBranch, ResetBranch, CreateTag, DropTag, CommitBranch, MakeTree,
                 MakeCollection, DropCollection, TakeCollection, MergeBranch, AdvanceBranch, BeginMerge, Decide, EndMerge,
                 SetRetention, SetCommitValidators, Sweep, FreeNodes, Purge>;

// Returns whether the entry's name is one of these.
bool is_branch_change(bson::DocumentView command);

// The first field's name says which entry it is. Throws DataCorruptionDetected for an unknown name or a damaged entry.
BranchChange decode_branch_change(bson::DocumentView command);

}  // namespace versions::log
