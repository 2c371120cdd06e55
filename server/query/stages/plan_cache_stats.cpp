// $planCacheStats shows the plans that are kept for later queries on the collection.
#include <unistd.h>

#include "server/core/operation.h"
#include "server/core/options.h"
#include "server/core/services.h"
#include "server/core/valid_text.h"
#include "server/query/plan/plan_cache.h"
#include "server/query/plan/plan_name.h"
#include "server/query/query_shape.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"
#include "storage/store.h"

namespace server::query {
namespace {

std::string host(const OperationContext& op) {
  char name[256] = "localhost";
  ::gethostname(name, sizeof name - 1);
  return std::string(name) + ":" + std::to_string(op.services().options.port);
}

void append_query(bson::Builder& out, const CachedPlan& plan) {
  auto query = out.object("createdFromQuery");
  query.append("query", plan.filter).append("sort", plan.sort).append("projection", plan.projection);
  if (plan.collator) query.append("collation", plan.collator->specification());
}

bson::Document show(const PlanCache::Entry& entry, const storage::Collection& collection, const OperationContext& op) {
  const CachedPlan& plan = *entry.plan;
  bson::Builder out;
  out.append("version", "1");  // of plans that are trees of stages
  out.append("queryHash", shape_digest(entry.key.shape)).append("planCacheKey", plan::plan_key(entry.key.shape, &collection));
  out.append("isActive", plan.active).append("works", plan.works).append("timeOfCreation", bson::Date{plan.created_ms});
  append_query(out, plan);
  out.append("cachedPlan", plan.stages);
  {
    auto runs = out.array("creationExecStats");
    for (const bson::Document& run : plan.runs) runs.append(run);
  }
  {
    auto scores = out.array("candidatePlanScores");
    for (const double score : plan.scores) scores.append(score);
  }
  out.append("indexFilterSet", plan.index_filter).append("estimatedSizeBytes", static_cast<int64_t>(entry_bytes(entry)));
  return with_valid_text(out.append("host", host(op)).done());
}

class PlanCacheStats final : public SourceSpec {
 public:
  explicit PlanCacheStats(const bson::Element& specification) : SourceSpec("$planCacheStats", specification) {}
  StagePtr start(StagePtr, PipelineContext& context) const override {
    const Services& services = context.op->services();
    const std::string ns = context.db + "." + context.collection;
    const auto collection = services.store->catalog().find(ns);
    if (!collection) refuse(50933, "collection '" + ns + "' does not exist");
    std::vector<bson::Document> documents;
    for (const auto& entry : services.plan_cache.list(collection->id(), plan::index_fingerprint(*collection)))
      documents.push_back(show(entry, *collection, *context.op));
    return std::make_unique<ListStage>(std::move(documents));
  }
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
