// Branches and tags of a database move to commits that another server brought.
#pragma once

#include <vector>

#include "server/commands/versions/remotes.h"
#include "versions/database/databases.h"

namespace server {

namespace write {
class CommitImporter;
}

// Moves a branch or a tag, or makes it, and returns what happened: "made", "moved", "reset" or "unchanged". A branch goes forward
// as a merge lets it, so that its writers and change streams see what changes. If it has commits that the new one doesn't come
// from, or if a tag names another commit, that takes `force`, else IllegalOperation is thrown. So it is if anything on the branch
// isn't committed, or a merge waits there. The commit is there.
std::string_view move_ref(OperationContext& op, versions::BranchedDatabase& database, const versions::pack::Ref& ref, bool force);

// A shallow history begins with a commit that shows nothing, and main with it. Then main goes to the commit of the ref `main`, or
// else of the first one, unless somebody has written there.
void leave_shallow_root(OperationContext& op, versions::BranchedDatabase& database, const std::vector<versions::pack::Ref>& refs);

// After a fetch or push that begins a database main stands at the first commit. Where it can't stay there, because that commit
// has what indexes refuse or what expires, main goes to the commit that leave_shallow_root would choose. Returns what happened,
// as move_ref does.
std::string_view leave_first(OperationContext& op, versions::BranchedDatabase& database,
                             const std::vector<versions::pack::Ref>& refs);
// Makes the indexes that the packs left out (CommitImporter::make_indexes), and lets main leave the first commit where it must.
// Returns what happened to main: "unchanged" mostly.
std::string_view make_indexes(OperationContext& op, write::CommitImporter& importer, const versions::pack::Header& header,
                              const std::vector<versions::pack::Ref>& refs);

// Lets the remote's tags name what its refs name. Returns those that moved or are new.
std::vector<versions::pack::Ref> track(OperationContext& op, versions::BranchedDatabase& database, const Remote& remote,
                                       const std::vector<versions::pack::Ref>& refs);

}  // namespace server
