// createSnapshot, listSnapshots and dropSnapshot share these functions. A snapshot is a moment of the whole server that stays
// readable, as shop@name.
#pragma once

#include "bson/builder.h"
#include "server/core/operation.h"
#include "versions/past/past.h"

namespace server {

// Throws store_of's error if this server keeps no data.
versions::past::Past& past_of(OperationContext& op);

// Appends {snapshot, number, name, time, clusterTime}; a snapshot without a name has no `name`.
void append_snapshot(const versions::past::DeclaredSnapshot& snapshot, bson::Builder& out);

}  // namespace server
