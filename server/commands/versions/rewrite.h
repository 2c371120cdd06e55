// rebase and squash write a branch's commits anew: on a branch of their own, whose commits the branch then takes over.
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

// The name of the branch on which `what` ("rebase" or "squash") writes the commits of another branch anew.
std::string rewriting(std::string_view what, std::string_view branch);

// Makes the branch to write on, which begins at `from`. One that an interrupted command left there goes. Throws IllegalOperation
// if a rebase waits there, or if changes on `branch` are not committed.
void begin_rewriting(OperationContext& op, storage::Transaction& transaction, versions::BranchedDatabase& database,
                     const versions::Branch& branch, const std::string& written, const versions::Ref& from);

// The branch ends from now on at the last commit of `written`, which goes. Returns that commit's id in hex. Throws
// IllegalOperation if the branch no longer ends at the commit `head`, or if changes there are not committed.
std::string take_over(OperationContext& op, versions::BranchedDatabase& database, const std::string& branch,
                      const std::string& head, const std::string& written);

// Drops the branch if it is there, even if the operation is interrupted.
void drop_rewriting(OperationContext& op, versions::BranchedDatabase& database, const std::string& written);

// Makes the picks of the rebase that waits on the branch `written`, until all are made or one meets conflicts. That one waits for
// decisions if the rebase was begun so (resolve: "manual"), else this throws OperationFailed, and what `rebase` has begun goes.
// continueMerge (`goes_on`) may give the first pick a message and an author, and fails if that still has conflicts. Fills in the
// command's reply.
void run_picks(OperationContext& op, versions::BranchedDatabase& database, const std::string& written, const Arguments& arguments,
               bool goes_on, bson::Builder& reply);

}  // namespace server
