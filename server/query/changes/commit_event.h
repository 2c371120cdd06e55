// A stream of a database's commits has an event for each commit:
//
//   {_id, operationType: "commit", clusterTime, wallTime, ns: {db: "shop@dev"}, branch: "dev", commit, parents, time, author,
//   message,
//    difference: {inserted: 1, updated: 2, deleted: 0}}
//
// `difference` counts the documents that the commit shows differently from its first parent.
#pragma once

#include "bson/builder.h"

namespace server {
class OperationContext;
}

namespace server::query {

// Returns the branch that the log's command makes a commit on; empty if it makes none.
std::string_view branch_of_commit(bson::DocumentView command);
// "merge" if the commit has two parents, else "commit".
std::string_view type_of_commit(bson::DocumentView command);
// Appends the fields from `branch` on. What was dropped since, with its branches or by a retention, is left out. `home` is the
// database's name without a ref.
void append_commit(OperationContext& op, std::string_view home, bson::DocumentView command, bson::Builder& out);

}  // namespace server::query
