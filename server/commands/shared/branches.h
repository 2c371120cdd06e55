// The commands about branches share these functions.
#pragma once

#include <string>

#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/query/branches/states.h"
#include "versions/database/databases.h"

namespace server {

// Returns the database whose branches a command is about: its name without the ref behind the `@`.
std::string database_of(const Request& request);
// Returns that ref; without one it is "main".
versions::Ref ref_of(const Request& request);
// Reads an argument that names a state.
versions::Ref ref_of(std::string_view argument);

// Throws NamespaceNotFound if the database has no branches.
std::shared_ptr<versions::BranchedDatabase> branched(OperationContext& op, const Request& request);
// Does the same, but if `ref` is main, which every database has, the database gets branches; `first` describes the commit that
// they begin with.
versions::Databases::Begun branched_from(OperationContext& op, const Request& request, const versions::Ref& ref,
                                         const versions::CommitInfo& first);

// Throws IllegalOperation if the branch has changes that are not committed, unless `force` is set.
void check_nothing_lost(storage::Transaction& transaction, versions::BranchedDatabase& database, const std::string& branch,
                        bool force);

// Reads the arguments `message` and `author`; the commit's time is now.
versions::CommitInfo commit_info(OperationContext& op, const Arguments& arguments, std::string_view message);
// Returns {name, database, commit, time} of a branch or a tag, for listBranches and listTags. The commit's id is made of its
// content, so a client that may not read that sees no more than the names.
bson::Document describe_name(const OperationContext& op, storage::Transaction& transaction, versions::BranchedDatabase& database,
                             const std::string& name, versions::CommitNumber at);
using query::describe;
using query::hex;

}  // namespace server
