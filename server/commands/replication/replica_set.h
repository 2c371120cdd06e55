// The commands of replica sets share this base.
#pragma once

#include "replication/coordinator.h"
#include "server/core/command.h"

namespace server {

class ReplicaSetCommand : public Command {
 public:
  bool admin_only() const override { return true; }

 protected:
  // Throws NoReplicationEnabled if the server is a standalone.
  static replication::Coordinator& set_of(OperationContext& op, const char* otherwise = "not running with --replSet");
};

}  // namespace server
