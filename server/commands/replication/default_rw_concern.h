// getDefaultRWConcern and setDefaultRWConcern share these functions.
#pragma once

#include "server/core/command.h"
#include "server/core/default_concerns.h"

namespace server {

// Throws 51300 on a standalone server.
DefaultConcerns& default_concerns_of(OperationContext& op, std::string_view command);
// Appends the reply of both commands.
void append_defaults(const ConcernDefaults& defaults, bson::Builder& reply);

}  // namespace server
