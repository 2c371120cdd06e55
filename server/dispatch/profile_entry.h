// A profile entry is a document of system.profile.
#pragma once

#include "bson/document.h"
#include "server/dispatch/profiler.h"

namespace server {

// Makes the entry of an operation that has ended.
bson::Document profile_entry(const OperationContext& op, const OperationEnd& end);

}  // namespace server
