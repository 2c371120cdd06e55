// _initialSyncBegin, _initialSyncFiles, _initialSyncRead and _initialSyncEnd let another member copy this one's data directory.
//
//   begin -> backupId, how far the data is     files -> names and lengths, page by page
//   read  -> part of a file: data, how many zeros follow it, checksum     end
#pragma once

#include "server/commands/replication/replica_set.h"
#include "server/peers/backup_host.h"

namespace server {

class InitialSyncSource : public ReplicaSetCommand {
 public:
  std::string_view help() const override { return "internal"; }

 protected:
  // Returns the backups that this member lends. Throws NoReplicationEnabled; throws NotPrimaryOrSecondary if the member has no
  // data to copy.
  static peers::BackupHost& host_of(OperationContext& op);
};

}  // namespace server
