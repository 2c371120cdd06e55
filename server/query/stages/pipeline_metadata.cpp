#include "server/query/stages/pipeline_metadata.h"

#include <algorithm>

#include "server/query/document_metadata.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/support.h"

namespace server::query {
namespace {

bool has_text(bson::DocumentView filter) {
  for (const bson::Element& part : filter) {
    if (part.name == "$text") return true;
    if (!part.is_array() || (part.name != "$and" && part.name != "$or" && part.name != "$nor")) continue;
    for (const bson::Element& branch : part.as_document()) {
      if (branch.is_object() && has_text(branch.as_document())) return true;
    }
  }
  return false;
}

}  // namespace

void begin_metadata(const bson::Element& first, PipelineContext& context) {
  context.metadata = std::make_shared<MetadataPlace>();
  context.scope.set_metadata(context.metadata);
  if (!first.is_object()) return;
  const bson::DocumentView stage = first.as_document();
  const bson::Element match = stage.find("$match");
  if (match.is_object() && has_text(match.as_document())) context.metadata->offer(MetaField::text_score);
  if (!stage.has("$geoNear")) return;
  context.metadata->offer(MetaField::near_distance);
  context.metadata->offer(MetaField::near_point);
}

namespace {

bool keeps_documents(std::string_view stage) {
  constexpr std::string_view keeping[] = {"$addFields", "$geoNear", "$graphLookup", "$limit",       "$lookup",
                                          "$match",     "$project", "$redact",      "$replaceRoot", "$replaceWith",
                                          "$set",       "$skip",    "$sort",        "$unset",       "$unwind"};
  return std::find(std::begin(keeping), std::end(keeping), stage) != std::end(keeping);
}

std::string_view name_of(const bson::Element& stage) {
  return stage.is_object() ? stage.as_document().first().name : std::string_view();
}

}  // namespace

void keep_metadata(std::string_view stage, PipelineContext& context) {
  if (!keeps_documents(stage)) context.scope.set_metadata(std::make_shared<MetadataPlace>());
}

bool mentions_metadata(bson::DocumentView stages) {
  return stages.bytes().find(bson::BytesView("$meta", sizeof "$meta")) != bson::BytesView::npos;
}

void pass_metadata(bson::DocumentView view, PipelineContext& context) {
  begin_metadata(view.first(), context);
  for (const bson::Element& stage : view) keep_metadata(name_of(stage), context);
}

ViewMetadata::ViewMetadata(bson::DocumentView view, std::shared_ptr<MetadataPlace> behind, PipelineContext& context)
    : context_(context), behind_(std::move(behind)) {
  for (const bson::Element& stage : view) left_ += keeps_documents(name_of(stage)) ? 0 : 1;
  context_.scope.set_metadata(context_.metadata);
}

void ViewMetadata::parsed(std::string_view stage) {
  if (keeps_documents(stage)) return;
  context_.scope.set_metadata(--left_ == 0 ? behind_ : std::make_shared<MetadataPlace>());
}

void refuse_text(const StageSpec& stage) {
  const auto* match = dynamic_cast<const Filtering*>(&stage);
  if (match && has_text(match->filter())) refuse(17313, "$match with $text is only allowed as the first pipeline stage");
}

}  // namespace server::query
