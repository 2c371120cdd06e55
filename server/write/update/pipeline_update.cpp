#include "server/write/update/pipeline_update.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "server/core/operation.h"
#include "server/query/expressions/now.h"
#include "server/query/stages/pipeline.h"

namespace server::write {

using base::ErrorCode;
using base::OperationError;

namespace {

// The pipeline's source, which has one document.
class OneDocument : public query::Stage {
 public:
  explicit OneDocument(bson::DocumentView document) : Stage(nullptr), document_(document) {}
  bool next() override { return !std::exchange(taken_, true); }
  bson::DocumentView document() override { return document_; }

 private:
  bson::DocumentView document_;
  bool taken_ = false;
};

void check_stages(bson::DocumentView stages) {
  static constexpr std::array<std::string_view, 6> allowed = {"$addFields",   "$project", "$replaceRoot",
                                                              "$replaceWith", "$set",     "$unset"};
  for (const auto& stage : stages) {
    if (!stage.is_object())
      throw OperationError(ErrorCode::type_mismatch, "Each element of the 'pipeline' array must be an object");
    const std::string_view name = stage.as_document().first().name;
    if (std::find(allowed.begin(), allowed.end(), name) != allowed.end()) continue;
    // The parser has its own error for a stage that doesn't exist.
    static constexpr std::array<std::string_view, 12> known = {"$match",  "$group", "$sort",  "$limit", "$skip", "$unwind",
                                                               "$lookup", "$count", "$facet", "$merge", "$out",  "$sample"};
    if (std::find(known.begin(), known.end(), name) == known.end()) continue;
    throw OperationError(ErrorCode::invalid_options, std::string(name) + " is not allowed to be used within an update");
  }
}

class StagesUpdate : public PipelineUpdate {
 public:
  StagesUpdate(bson::DocumentView stages, const std::vector<bson::DocumentView>& variables, OperationContext& op,
               const bson::CollatorPtr& collator)
      : stages_(stages), context_(query::command_time_ms(op), &op) {
    context_.set_collator(collator);
    for (bson::DocumentView defined : variables) context_.define(defined);
    pipeline_ = std::make_unique<query::Pipeline>(stages_, context_);
  }

  bson::Document apply(bson::DocumentView document) const override {
    const auto running = pipeline_->start_over(std::make_unique<OneDocument>(document));
    base::check(running->next(), "an update's stages make one document of one");
    return bson::Document(running->document());
  }

 private:
  bson::Document stages_;
  query::PipelineContext context_;
  std::unique_ptr<query::Pipeline> pipeline_;
};

}  // namespace

std::unique_ptr<PipelineUpdate> compile_pipeline_update(bson::DocumentView stages,
                                                        const std::vector<bson::DocumentView>& variables, OperationContext& op,
                                                        const bson::CollatorPtr& collator) {
  check_stages(stages);
  return std::make_unique<StagesUpdate>(stages, variables, op, collator);
}

}  // namespace server::write
