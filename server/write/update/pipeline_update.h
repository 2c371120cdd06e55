// Updates written as a pipeline: [{$set: {total: {$add: ["$a", "$b"]}}}, …].
//
// The aggregation language compiles them; this is the plug it fills.
#pragma once

#include <memory>

#include "bson/document.h"
#include "server/query/parse_context.h"

namespace server::write {

class PipelineUpdate {
 public:
  virtual ~PipelineUpdate() = default;
  // The document after all stages; whether its _id survived is checked by the caller.
  virtual bson::Document apply(bson::DocumentView document) const = 0;
};

// `stages` is the array, `constants` the statement's `c` (may be empty). Throws
// InvalidOptions (72) for a stage that updates may not use.
std::unique_ptr<PipelineUpdate> compile_pipeline_update(bson::DocumentView stages, bson::DocumentView constants,
                                                        const query::ParseContext& context);

}  // namespace server::write
