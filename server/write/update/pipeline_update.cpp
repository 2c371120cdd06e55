#include "server/write/update/pipeline_update.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "server/core/operation.h"
#include "server/query/expressions/now.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/registry.h"

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

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// $fill is a shorthand for $addFields where it gives values alone; where it has methods, it looks at other documents.
bool fills_with_values(const bson::Element& specification) {
  if (!specification.is_object()) return true;  // the parser refuses it
  const bson::Element output = specification.as_document().find("output");
  if (!output.is_object()) return true;
  const bson::DocumentView fields = output.as_document();
  return std::none_of(fields.begin(), fields.end(),
                      [](const bson::Element& field) { return field.is_object() && field.as_document().has("method"); });
}

// Only stages that make exactly one document of one may run.
void check_stages(bson::DocumentView stages) {
  static constexpr std::string_view allowed[] = {"$addFields", "$project", "$replaceRoot", "$replaceWith", "$set", "$unset"};
  static constexpr std::string_view groupings[] = {"$bucket", "$count", "$sortByCount"};  // shorthands for $group
  static const std::vector<std::string_view> known = query::stage_names();
  for (const auto& stage : stages) {
    if (!stage.is_object())
      throw OperationError(ErrorCode::type_mismatch, "Each element of the 'pipeline' array must be an object");
    const bson::Element first = stage.as_document().first();
    if (contains(allowed, first.name) || (first.name == "$fill" && fills_with_values(first))) continue;
    if (!contains(known, first.name)) continue;  // the parser has its own error for a stage that doesn't exist
    const std::string_view name = contains(groupings, first.name) ? "$group" : first.name;
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
    if (!running->next()) throw OperationError(ErrorCode::internal_error, "the stages of an update left no document");
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
