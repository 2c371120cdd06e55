// $geoNear returns documents of the pipeline's collection in the order of their distance from a point.
#pragma once

#include "server/query/query.h"
#include "server/query/stages/stage.h"

namespace server::query {

StageSpecPtr parse_geo_near(const bson::Element& specification, PipelineContext& context);

// A source that asks the planner: its documents come from the pipeline's own collection.
class Asking {
 public:
  virtual ~Asking() = default;
  // Throws as the stage's start does.
  virtual Query query(PipelineContext& context) const = 0;
};

}  // namespace server::query
