// explain of update, delete and findAndModify: their reading half is planned, and run
// above queryPlanner; nothing is written.
#pragma once

#include "bson/builder.h"
#include "server/query/query.h"

namespace server {

class OperationContext;
struct Request;

// False: `command` isn't one of them.
bool explain_write(OperationContext& op, const Request& request, std::string_view command, query::Verbosity verbosity,
                   bson::Builder& reply);

}  // namespace server
