#include "server/commands/replication/replica_set.h"

#include "server/core/operation.h"
#include "server/core/services.h"

namespace server {

replication::Coordinator& ReplicaSetCommand::set_of(OperationContext& op, const char* otherwise) {
  replication::Coordinator* set = op.services().replica_set;
  if (!set) throw base::OperationError(base::ErrorCode::no_replication_enabled, otherwise);
  return *set;
}

}  // namespace server
