// A database can have validators for its commits: what they must fulfil before a branch gets them.
//
//   {pages:  {validator: {price: {$gte: 0}}},                                 a query, which each document must match
//    orders: {pipeline: [{$group: {_id: "$day", n: {$sum: 1}}}, {$match: {n: {$gt: 9}}}]}}    each result is a violation
//
// They see the documents that the commit shows and its first parent doesn't: those that were inserted, and updated ones as they
// are now. So a check costs what the commit changed.
#pragma once

#include "versions/database/branched_database.h"

namespace server {
class OperationContext;
}

namespace server::write {

// Throws for what no database can have as validators: BadValue, FailedToParse, and the errors of queries and pipelines.
void check_validators(OperationContext& op, bson::DocumentView validators);

// Throws DocumentValidationFailure (121), with the first violations as errInfo, if what `commit` shows and `before` doesn't
// breaks a validator of the database; with 0 as `before`, all that `commit` shows is looked at. Does nothing if the request has
// bypassDocumentValidation. The transaction made the commit, and must not be committed then.
void check_commit(OperationContext& op, storage::Transaction& transaction, versions::BranchedDatabase& database,
                  versions::CommitNumber before, versions::CommitNumber commit);

}  // namespace server::write
