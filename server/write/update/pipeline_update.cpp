#include "server/write/update/pipeline_update.h"

#include "base/error.h"

namespace server::write {

std::unique_ptr<PipelineUpdate> compile_pipeline_update(bson::DocumentView, bson::DocumentView, const query::ParseContext&) {
  throw base::OperationError(base::ErrorCode::command_not_supported, "pipeline-style updates are not supported");
}

}  // namespace server::write
