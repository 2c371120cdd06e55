// What createSnapshot, listSnapshots and dropSnapshot have in common. A snapshot is a moment of the whole server that stays
// readable, as shop@name.
#pragma once

#include "bson/builder.h"
#include "server/core/operation.h"
#include "versions/past/past.h"

namespace server {

// Throws what engine_of throws if this server keeps no data.
versions::past::Past& past_of(OperationContext& op);

// {snapshot, number, name, time, clusterTime}; a snapshot without a name has no `name`.
void append_snapshot(const versions::past::DeclaredSnapshot& snapshot, bson::Builder& out);

}  // namespace server
