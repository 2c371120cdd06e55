#include "server/commands/versions/snapshots.h"

#include "replication/optime.h"
#include "server/core/services.h"
#include "server/write/target.h"

namespace server {

using versions::past::DeclaredSnapshot;

void append_snapshot(const DeclaredSnapshot& snapshot, bson::Builder& out) {
  out.append("snapshot", snapshot.text()).append("number", static_cast<int64_t>(snapshot.number));
  if (!snapshot.name.empty()) out.append("name", snapshot.name);
  out.append("time", bson::Date{snapshot.time_ms}).append("clusterTime", replication::timestamp_of(snapshot.stamp));
}

versions::past::Past& past_of(OperationContext& op) {
  write::store_of(op);
  return *op.services().past;
}

}  // namespace server
