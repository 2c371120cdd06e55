#include "server/core/cluster_time.h"

#include <algorithm>

#include "replication/coordinator.h"
#include "server/core/services.h"
#include "storage/engine/engine.h"
#include "storage/store.h"

namespace server {

bool in_initiated_set(const Services& services) {
  return services.replica_set && services.replica_set->state() != replication::MemberState::startup;
}

storage::Stamp cluster_time(const Services& services) {
  const storage::Stamp own = services.store->engine().last_stamp();
  return services.replica_set ? std::max(own, services.replica_set->known_time()) : own;
}

}  // namespace server
