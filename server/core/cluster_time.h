// The cluster time is the set's time: the newest timestamp that this member knows of.
#pragma once

#include "storage/engine/record_id.h"

namespace server {

struct Services;

// Returns whether the server is a member of a replica set that was initiated.
bool in_initiated_set(const Services& services);

// The server has storage. On a server that is in no set it is the newest timestamp that a write got.
storage::Stamp cluster_time(const Services& services);

}  // namespace server
