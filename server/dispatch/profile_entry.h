// A document of system.profile.
#pragma once

#include "bson/document.h"
#include "server/dispatch/profiler.h"

namespace server {

// What is known of the operation when it ends.
bson::Document profile_entry(const OperationContext& op, const OperationEnd& end);

}  // namespace server
