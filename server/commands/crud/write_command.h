// insert, update and delete are batches of statements.
#pragma once

#include <string>
#include <vector>

#include "server/core/command.h"
#include "server/query/find_request.h"
#include "server/write/statements.h"

namespace server {

// Returns the statements of a write command. Throws InvalidLength (16) for none or more than 100,000, and 40414 if the field is
// missing.
std::vector<bson::DocumentView> statements_of(const Request& request, std::string_view field);

// These parse a statement of update and delete. The result points into the statement and `lets`.
write::UpdateStatement parse_update_statement(bson::DocumentView statement, query::StatementLets& lets);
write::Selection parse_delete_statement(bson::DocumentView statement, query::StatementLets& lets);
// The write of a findAndModify, without the document that it returns. Its views point into the request, but for `let`: whoever
// parses keeps that document, and sets the selection's view of it.
struct FindAndModifyStatement {
  write::UpdateStatement statement;
  bool removes = false;
  bson::Document let;
};
// Throws what a findAndModify would throw before it looks for a document.
FindAndModifyStatement parse_find_and_modify(OperationContext& op, const Request& request);

// Returns the namespace that the command writes to, checked for a user's writes.
std::string write_namespace(OperationContext& op, const Request& request);

}  // namespace server
