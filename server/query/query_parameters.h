// These parameters, which setParameter changes, apply to all queries.
#pragma once

#include <atomic>
#include <cstdint>

namespace server {
class OperationContext;
class ServerParameters;
}  // namespace server

namespace server::query {

// The server has one. It must live as long as the parameters.
struct QueryParameters {
  std::atomic<bool> refuses_scans{false};       // notablescan
  std::atomic<bool> disk_use_by_default{true};  // allowDiskUseByDefault
  std::atomic<int64_t> race_works_max{10'000};  // internalQueryPlanEvaluationWorks
  std::atomic<int64_t> race_results_max{101};   // internalQueryPlanEvaluationMaxResults
  std::atomic<int64_t> cached_ratio{10};        // internalQueryCacheEvictionRatio
  std::atomic<int64_t> sort_bytes{100 << 20};   // internalQueryMaxBlockingSortMemoryUsageBytes

  void add_to(ServerParameters& parameters);
};

// Returns whether a query with a filter must find an index for it.
bool refuses_scans(const OperationContext& op);
// Returns whether sorts and groups may use the disk when the command doesn't say.
bool uses_disk_by_default(const OperationContext& op);

// A race between plans is over when one has found so many documents, or each has done so many works.
struct RaceLimits {
  int64_t works_max = 0;
  int64_t results_max = 0;
};
RaceLimits race_limits(const OperationContext& op);
// Returns how many times the works of its race a cached plan may need before its first results are there.
int64_t cached_works_ratio(const OperationContext& op);
// Returns the memory that one sort may use before it goes to disk.
int64_t sort_bytes_max(const OperationContext& op);

}  // namespace server::query
