// What the commands about branches have in common.
#pragma once

#include <string>

#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/query/branches/states.h"
#include "versions/database/databases.h"

namespace server {

// The database whose branches a command is about: its name without what stands behind an `@`.
std::string database_of(const Request& request);
// What stands there; "main" where nothing does.
versions::Ref ref_of(const Request& request);
// An argument that names a state.
versions::Ref ref_of(std::string_view argument);

// Throws NamespaceNotFound where the database has no branches.
std::shared_ptr<versions::BranchedDatabase> branched(OperationContext& op, const Request& request);
// The same, but where `ref` is main, which every database has: then it gets branches, and `first` is of the commit that they
// begin with.
versions::Databases::Begun branched_from(OperationContext& op, const Request& request, const versions::Ref& ref,
                                         const versions::CommitInfo& first);

// Throws IllegalOperation where the branch has changes that are not committed, unless they may go.
void check_nothing_lost(storage::Transaction& transaction, versions::BranchedDatabase& database, const std::string& branch,
                        bool force);

// From the arguments `message` and `author`; the time is now.
versions::CommitInfo commit_info(OperationContext& op, const Arguments& arguments, std::string_view message);
// {name, database, commit, time}, of a branch or a tag: what listBranches and listTags show.
bson::Document describe_name(storage::Transaction& transaction, versions::BranchedDatabase& database, const std::string& name,
                             versions::CommitNumber at);
using query::describe;
using query::hex;

}  // namespace server
