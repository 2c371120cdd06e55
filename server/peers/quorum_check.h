// Before a configuration is accepted, this check asks whether the members that it
// names are reachable and free to join.
#pragma once

#include <functional>
#include <string>

#include "base/tls/contexts.h"
#include "replication/set_config.h"
#include "server/peers/member_login.h"

namespace server::peers {

// Asks every member but this one, all at once, with the configuration's heartbeat timeout. For a set that is being initiated all
// must answer, and none may have a configuration or data of its own; for an existing set a majority of the voters must answer,
// and a member that can be elected. Returns as soon as that is known.
//
// Throws NodeNotFound, NewReplicaSetConfigurationIncompatible, CannotInitializeNodeWithData with mongod's messages, and
// InvalidReplicaSetConfig if no member is this one.
void check_quorum(const replication::SetConfig& config, bool initiating,
                  const std::function<bool(const std::string& host)>& is_self, const base::tls::Contexts* tls = nullptr,
                  const MemberLogin* login = nullptr);

}  // namespace server::peers
