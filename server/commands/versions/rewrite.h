// rebase and squash write a branch's commits anew: on an unfinished branch (server/write/replacement.h), whose commits the branch
// then takes over.
//
//   main     1 --- 2                  main     1 --- 2
//            |                                       |
//   dev      +--- 3 --- 4             dev            +--- 3' --- 4'
//
// The commits 3 and 4 stay for whoever names them, until retention lets them go.
#pragma once

#include <string>

#include "server/core/arguments.h"
#include "server/core/command.h"
#include "versions/database/databases.h"

namespace server {

// Makes the unfinished branch to write on, which begins at `from`, and returns its name. Throws IllegalOperation if changes on
// `branch` are not committed, or if a merge waits there.
std::string begin_rewriting(storage::Transaction& transaction, versions::BranchedDatabase& database,
                            const versions::Branch& branch, const versions::Ref& from);

// The name of the branch on which a rebase of the branch waits when it has met conflicts.
std::string waiting_rebase(std::string_view branch);

// The branch ends from now on at the last commit of `written`, which goes. Returns that commit's id in hex. Throws
// IllegalOperation if the branch no longer ends at the commit `head`, if changes there are not committed, or if a merge waits
// there.
std::string take_over(OperationContext& op, versions::BranchedDatabase& database, const std::string& branch,
                      const std::string& head, const std::string& written);

// Drops the branch if it is there, even if the operation is interrupted.
void drop_rewriting(OperationContext& op, versions::BranchedDatabase& database, const std::string& written);

// Makes the picks of the rebase that waits on the branch `written`, until all are made or one meets conflicts. That one waits for
// decisions on the branch waiting_rebase() if the rebase was begun so (resolve: "manual"), else this throws OperationFailed.
// continueMerge (`goes_on`) may give the first pick a message and an author, and fails if that still has conflicts. If the branch
// can't take the picks over yet, that waits as a pick does; if it went on, `written` is a branch like others. Fills in the
// command's reply.
void run_picks(OperationContext& op, versions::BranchedDatabase& database, const std::string& written, const Arguments& arguments,
               bool goes_on, bson::Builder& reply);

}  // namespace server
