// What becomes of a content that branches store no longer.
#pragma once

#include "versions/database/branched_database.h"

namespace server {
class OperationContext;
}

namespace server::write {

// A content that a branch loses is kept for the log that names it.
versions::BranchedDatabase::Lost keep_for_log(OperationContext& op);

}  // namespace server::write
