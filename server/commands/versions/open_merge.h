// listConflicts, resolveConflict and continueMerge work on the merge that stopped at conflicts on a branch.
#pragma once

#include <string_view>
#include <utility>

#include "server/commands/versions/merge_request.h"
#include "versions/database/databases.h"

namespace server {

// Returns the merge that is under way on the branch, as this transaction sees it. Throws IllegalOperation if there is none.
MergeRequest open_merge(OperationContext& op, storage::Transaction& transaction, versions::BranchedDatabase& database,
                        const versions::Branch& branch);

// Returns the rebase that waits on the branch; nullopt: none does.
std::optional<MergeRequest::Rebase> rebase_on(OperationContext& op, versions::BranchedDatabase& database,
                                              const versions::Ref& branch);

// The names of the decisions that resolveConflict takes and listConflicts shows.
inline constexpr std::pair<std::string_view, versions::Decision::Take> decision_names[] = {
    {"ours", versions::Decision::Take::ours},
    {"theirs", versions::Decision::Take::theirs},
    {"base", versions::Decision::Take::base},
    {"document", versions::Decision::Take::document}};
std::string_view name_of(versions::Decision::Take take);

}  // namespace server
