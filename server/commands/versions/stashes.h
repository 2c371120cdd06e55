// The commands about stashes share these functions.
//
//   dev     1 --- 2                  stash       dev     1 --- 2          a stash is a commit that no branch shows;
//                  \ (changes)       ---->                      \ 3       what it changed against its parent is applied
//                                                                        as a pick is, and isn't committed
#pragma once

#include "server/access/actions.h"
#include "server/core/arguments.h"
#include "versions/database/databases.h"

namespace server {

class OperationContext;

using Stash = versions::BranchedDatabase::Stash;

// Reads the command's first field. Throws BadValue if it isn't a number from 1.
uint64_t stash_number(const Arguments& arguments, std::string_view command);

// Returns whether the client has the right on the branch that the stash was made on: what the stash has was there.
bool may_at_stash(const OperationContext& op, const versions::BranchedDatabase& database, const Stash& stash,
                  access::Action action);

// Throws NamespaceNotFound if there is none of the number, and Unauthorized if the client doesn't have all these rights on the
// branch that it was made on.
Stash find_stash(OperationContext& op, storage::Transaction& transaction, versions::BranchedDatabase& database, uint64_t number,
                 std::initializer_list<access::Action> needed);

}  // namespace server
