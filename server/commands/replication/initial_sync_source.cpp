#include "server/commands/replication/initial_sync_source.h"

#include "server/core/operation.h"
#include "server/core/services.h"

namespace server {

using replication::MemberState;

peers::BackupHost& InitialSyncSource::host_of(OperationContext& op) {
  const MemberState state = set_of(op).state();
  if (state != MemberState::primary && state != MemberState::secondary) {
    throw base::OperationError(base::ErrorCode::not_primary_or_secondary,
                               "a member in state " + std::string(replication::state_name(state)) + " can't be copied from");
  }
  return *op.services().backups;
}

}  // namespace server
