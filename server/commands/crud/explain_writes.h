// explain of update, delete and findAndModify plans their reading half, and runs
// it above queryPlanner; it writes nothing.
#pragma once

#include "bson/builder.h"
#include "server/query/query.h"

namespace server {

class OperationContext;
struct Request;

// Returns false if `command` isn't one of them.
bool explain_write(OperationContext& op, const Request& request, std::string_view command, query::Verbosity verbosity,
                   bson::Builder& reply);

}  // namespace server
