// Branches and tags of a database move to commits that another server brought.
#pragma once

#include <vector>

#include "server/commands/versions/remotes.h"
#include "versions/database/databases.h"

namespace server {

// Moves a branch or a tag, or makes it, and returns what happened: "made", "moved", "reset" or "unchanged". A branch goes forward
// as a merge lets it, so that its writers and change streams see what changes. If it has commits that the new one doesn't come
// from, or if a tag names another commit, that takes `force`, else IllegalOperation is thrown. So it is if anything on the branch
// isn't committed, or a merge waits there. The commit is there.
std::string_view move_ref(OperationContext& op, versions::BranchedDatabase& database, const versions::pack::Ref& ref, bool force);

// A shallow history begins with a commit that shows nothing, and main with it. Then main goes to the commit of the ref `main`, or
// else of the first one, unless somebody has written there.
void leave_shallow_root(OperationContext& op, versions::BranchedDatabase& database, const std::vector<versions::pack::Ref>& refs);

// Lets the remote's tags name what its refs name. Returns those that moved or are new.
std::vector<versions::pack::Ref> track(OperationContext& op, versions::BranchedDatabase& database, const Remote& remote,
                                       const std::vector<versions::pack::Ref>& refs);

}  // namespace server
