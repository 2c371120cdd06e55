// planCacheClearFilters removes all index filters of a collection, or the one of a query's shape.
#include "server/commands/crud/plan_cache_request.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/plan/index_filters.h"
#include "server/query/plan/plan_cache.h"

namespace server {
namespace {

class PlanCacheClearFilters : public Command {
 public:
  std::string_view name() const override { return "planCacheClearFilters"; }
  std::string_view help() const override {
    return "Clears index filter(s) on a single query shape or, if the query shape is omitted, all filters for the collection.";
  }
  bool takes_collection() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const uint32_t collection = requested_collection(op, request);
    if (collection == 0) return;
    query::IndexFilters& filters = op.services().index_filters;
    // Their plans were chosen among the indexes that the filters allowed.
    if (const auto query = optional_query(op, request)) {
      filters.clear(collection, query->shape);
      op.services().plan_cache.clear({collection, query->shape});
    } else {
      filters.clear(collection);
      op.services().plan_cache.clear(collection);
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_plan_cache_clear_filters_command() {
  return std::make_unique<PlanCacheClearFilters>();
}

}  // namespace server
