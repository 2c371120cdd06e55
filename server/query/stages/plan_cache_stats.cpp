// $planCacheStats shows the plans that are kept for later queries. There are none: each query tries its plans anew.
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"

namespace server::query {
namespace {

class PlanCacheStats final : public SourceSpec {
 public:
  explicit PlanCacheStats(const bson::Element& specification) : SourceSpec("$planCacheStats", specification) {}
  StagePtr start(StagePtr, PipelineContext&) const override { return std::make_unique<ListStage>(std::vector<bson::Document>()); }
};

}  // namespace

StageSpecPtr parse_plan_cache_stats(const bson::Element& specification, PipelineContext&) {
  if (!specification.is_object()) {
    refuse(base::ErrorCode::failed_to_parse, "$planCacheStats value must be an object. Found: " + type_of(specification));
  }
  for (const bson::Element& field : specification.as_document()) {
    if (field.name != "allHosts") {
      refuse(base::ErrorCode::failed_to_parse,
             "$planCacheStats parameters object may contain only 'allHosts' field. Found: " + std::string(field.name));
    }
    if (field.type() != bson::Type::boolean) {
      refuse(base::ErrorCode::failed_to_parse, "$planCacheStats allHosts parameter must be a boolean. Found: " + type_of(field));
    }
    if (field.as_bool()) refuse(4503200, "$planCacheStats stage supports allHosts parameter only for sharded clusters");
  }
  return std::make_unique<PlanCacheStats>(specification);
}

}  // namespace server::query
