#include "server/query/query_parameters.h"

#include <limits>

#include "bson/document.h"
#include "server/core/operation.h"
#include "server/core/parameters.h"
#include "server/core/services.h"

namespace server::query {
namespace {

constexpr const char* no_scans = "notablescan";
constexpr const char* disk_use = "allowDiskUseByDefault";
constexpr const char* race_works = "internalQueryPlanEvaluationWorks";
constexpr const char* race_results = "internalQueryPlanEvaluationMaxResults";
constexpr const char* cache_ratio = "internalQueryCacheEvictionRatio";
constexpr const char* sort_memory = "internalQueryMaxBlockingSortMemoryUsageBytes";

bool value_of(const OperationContext& op, const char* name, bool otherwise) {
  const ServerParameters::Parameter* parameter = op.services().parameters.find(name);
  return parameter ? parameter->get().view().truthy() : otherwise;
}

int64_t number_of(const OperationContext& op, const char* name, int64_t otherwise) {
  const ServerParameters::Parameter* parameter = op.services().parameters.find(name);
  return parameter ? parameter->get().view().to_int64() : otherwise;
}

}  // namespace

void QueryParameters::add_to(ServerParameters& parameters) {
  parameters.add_boolean(no_scans, refuses_scans);
  parameters.add_boolean(disk_use, disk_use_by_default);
  constexpr int64_t int_max = std::numeric_limits<int32_t>::max();
  parameters.add_integer(race_works, race_works_max, {.min = 1, .max = int_max});
  parameters.add_integer(race_results, race_results_max, {.min = 1, .max = int_max});
  parameters.add_integer(cache_ratio, cached_ratio, {.min = 1, .max = int_max});
  parameters.add_integer(sort_memory, sort_bytes, {.min = 1 << 20});
  // A command's documents may nest so deep; a stored one may have bson::nesting_max levels.
  parameters.add("maxBSONDepth", {[] { return bson::Value(int32_t{bson::nesting_max + 20}); }, {}, false, false});
}

bool refuses_scans(const OperationContext& op) {
  return value_of(op, no_scans, false);
}

bool uses_disk_by_default(const OperationContext& op) {
  return value_of(op, disk_use, true);
}

RaceLimits race_limits(const OperationContext& op) {
  return {.works_max = number_of(op, race_works, 10'000), .results_max = number_of(op, race_results, 101)};
}

int64_t cached_works_ratio(const OperationContext& op) {
  return number_of(op, cache_ratio, 10);
}

int64_t sort_bytes_max(const OperationContext& op) {
  return number_of(op, sort_memory, int64_t{100} << 20);
}

}  // namespace server::query
