// A command asks here about what a rule of dispatch couldn't see: which of several things the client may be shown.
#pragma once

#include "server/core/operation.h"
#include "server/core/options.h"
#include "server/core/services.h"

namespace server {

// Without access control everything is allowed.
inline bool may(const OperationContext& op, const access::ActionSet& actions, const access::Resource& resource) {
  if (!op.services().options.authorization) return true;
  const access::AuthorityPtr authority = op.client().authority();
  return authority && authority->privileges.allow(actions, resource);
}
inline bool may_on_cluster(const OperationContext& op, access::Action action) {
  return may(op, {action}, access::Resource::of_cluster());
}

// Returns whether both are logged in as the same user, or there is no access control.
inline bool same_user(const OperationContext& op, const Client& other) {
  if (!op.services().options.authorization) return true;
  const access::AuthorityPtr own = op.client().authority(), its = other.authority();
  return (!own && !its) || (own && its && own->user == its->user && own->user_id == its->user_id);
}

}  // namespace server
