// $changeStream isn't offered; the error depends on where the client asks.
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"

namespace server::query {

StageSpecPtr parse_change_stream(const bson::Element& specification, PipelineContext& context) {
  if (context.op->services().replica_set) refuse(40324, "Unrecognized pipeline stage name: '$changeStream'");
  if (!specification.is_object()) refuse(50808, "$changeStream stage expects a document as argument");
  // Clients know this code, and tell their users to start a replica set.
  refuse(40573, "The $changeStream stage is only supported on replica sets");
}

}  // namespace server::query
