// An update may be a pipeline: [{$set: {total: {$add: ["$a", "$b"]}}}, …].
//
// Its stages are those of the aggregation that make one document of one.
#pragma once

#include <memory>
#include <vector>

#include "bson/collator.h"
#include "bson/document.h"

namespace server {
class OperationContext;
}

namespace server::write {

class PipelineUpdate {
 public:
  virtual ~PipelineUpdate() = default;
  // Returns the document after all stages; the caller checks whether its _id is the same.
  virtual bson::Document apply(bson::DocumentView document) const = 0;
};

// `variables` are the statement's `c` and the command's `let`, already constant. Throws InvalidOptions (72) for a stage that
// updates may not use. `op` outlives the result.
std::unique_ptr<PipelineUpdate> compile_pipeline_update(bson::DocumentView stages,
                                                        const std::vector<bson::DocumentView>& variables, OperationContext& op,
                                                        const bson::CollatorPtr& collator);

}  // namespace server::write
