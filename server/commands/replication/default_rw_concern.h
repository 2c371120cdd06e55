// What getDefaultRWConcern and setDefaultRWConcern have in common.
#pragma once

#include "server/core/command.h"
#include "server/core/default_concerns.h"

namespace server {

// Throws 51300 on a standalone server.
DefaultConcerns& default_concerns_of(OperationContext& op, std::string_view command);
// The reply of both.
void append_defaults(const ConcernDefaults& defaults, bson::Builder& reply);

}  // namespace server
