// insert, update and delete are batches of statements.
#pragma once

#include <string>
#include <vector>

#include "server/core/command.h"

namespace server {

class Arguments;

// Returns the statements of a write command. Throws InvalidLength (16) for none or more than 100,000, and 40414 if the field is
// missing.
std::vector<bson::DocumentView> statements_of(const Request& request, std::string_view field);

// These throw 40415 for a field that a statement of the command doesn't have.
void check_update_fields(const Arguments& statement);
void check_delete_fields(const Arguments& statement);

// Returns the namespace that the command writes to, checked for a user's writes.
std::string write_namespace(OperationContext& op, const Request& request);

}  // namespace server
