// The documents that go through a pipeline have metadata (document_metadata.h) as long as its stages keep documents apart:
// scores if it begins with $text, distances if it begins with $geoNear, and records and keys of what was read.
#pragma once

#include "server/query/stages/stage.h"

namespace server::query {

// Gives the pipeline a place for metadata. It is called before `first`, the first stage, is parsed.
void begin_metadata(const bson::Element& first, PipelineContext& context);
// Gives the stages behind one that makes other documents of its input a place of their own, which has no metadata yet.
void keep_metadata(std::string_view stage, PipelineContext& context);
// Returns whether a stage in the list reads metadata, or may.
bool mentions_metadata(bson::DocumentView stages);
// Passes over a view's stages: what is parsed next stands behind them.
void pass_metadata(bson::DocumentView view, PipelineContext& context);
// A view's stages are parsed after those behind it: the place that they leave their metadata in is `behind`, that of the first
// stage behind them.
class ViewMetadata {
 public:
  ViewMetadata(bson::DocumentView view, std::shared_ptr<MetadataPlace> behind, PipelineContext& context);
  // A stage of the view was parsed.
  void parsed(std::string_view stage);

 private:
  PipelineContext& context_;
  std::shared_ptr<MetadataPlace> behind_;
  size_t left_ = 0;  // stages that make other documents
};
// Throws 17313 if the stage has $text: only a pipeline's first stage may.
void refuse_text(const StageSpec& stage);

}  // namespace server::query
