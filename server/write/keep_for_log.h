// The log may still need a content that branches no longer store.
#pragma once

#include "versions/database/branched_database.h"

namespace server {
class OperationContext;
}

namespace server::write {

// Returns a function that keeps a content that a branch loses, for the log's entries that name it.
versions::BranchedDatabase::Lost keep_for_log(OperationContext& op);

}  // namespace server::write
