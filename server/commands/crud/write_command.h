// What insert, update and delete have in common: batches of statements.
#pragma once

#include <string>
#include <vector>

#include "server/core/command.h"

namespace server {

// The statements of a write command. Throws InvalidLength (16) for none or more than 100,000
// and 40414 when the field is missing.
std::vector<bson::DocumentView> statements_of(const Request& request, std::string_view field);

// Who and what it writes to: checked for a user's writes.
std::string write_namespace(OperationContext& op, const Request& request);

}  // namespace server
