#include "server/commands/crud/plan_limits.h"

#include "server/core/parameters.h"
#include "server/query/fitting_int.h"
#include "server/query/query_parameters.h"
#include "server/query/stages/stage.h"

namespace server {
namespace {

constexpr auto stage_bytes = static_cast<int32_t>(query::stage_memory_max);
constexpr std::string_view sort_bytes = "internalQueryMaxBlockingSortMemoryUsageBytes";  // query_parameters.h has its value
constexpr std::string_view framework = "internalQueryFrameworkControl";

struct Limit {
  std::string_view name;
  int32_t value = 0;
};

// The limits stand in the order in which explain shows them.
constexpr Limit limits[] = {{"internalQueryFacetBufferSizeBytes", stage_bytes},
                            {"internalQueryFacetMaxOutputDocSizeBytes", stage_bytes},
                            {"internalLookupStageIntermediateDocumentMaxSizeBytes", stage_bytes},
                            {"internalDocumentSourceGroupMaxMemoryBytes", stage_bytes},
                            {sort_bytes, 0},
                            {"internalQueryProhibitBlockingMergeOnMongoS", 0},
                            {"internalQueryMaxAddToSetBytes", stage_bytes},
                            {"internalDocumentSourceSetWindowFieldsMaxMemoryBytes", stage_bytes}};
constexpr const char* framework_used = "forceClassicEngine";

void add_constant(ServerParameters& parameters, std::string_view name, const bson::Value& value) {
  parameters.add(std::string(name), {[value] { return value; }, {}, false, false});
}

}  // namespace

void add_plan_limits(ServerParameters& parameters) {
  for (const Limit& limit : limits) {
    if (limit.name != sort_bytes) add_constant(parameters, limit.name, bson::Value(limit.value));
  }
  add_constant(parameters, framework, bson::Value(framework_used));
}

void append_plan_limits(const OperationContext& op, bson::Builder& out) {
  for (const Limit& limit : limits) {
    if (limit.name == sort_bytes)
      out.append(limit.name, query::fitting_int(query::sort_bytes_max(op)));
    else
      out.append(limit.name, limit.value);
  }
  out.append(framework, framework_used);
}

}  // namespace server
