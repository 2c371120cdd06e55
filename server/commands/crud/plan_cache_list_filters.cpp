// planCacheListFilters returns the index filters of a collection.
#include "server/commands/crud/plan_cache_request.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/core/valid_text.h"
#include "server/query/plan/index_filters.h"

namespace server {
namespace {

class PlanCacheListFilters : public Command {
 public:
  std::string_view name() const override { return "planCacheListFilters"; }
  std::string_view help() const override { return "Displays index filters for all query shapes in a collection."; }
  bool takes_collection() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    auto list = reply.array("filters");
    const uint32_t collection = requested_collection(op, request);
    if (collection == 0) return;
    for (const auto& filter : op.services().index_filters.list(collection)) {
      bson::Builder one;
      one.append("query", filter->filter).append("sort", filter->sort).append("projection", filter->projection);
      if (filter->collator) one.append("collation", filter->collator->specification());
      {
        auto indexes = one.array("indexes");
        for (const bson::Document& key : filter->keys) indexes.append(key);
        for (const std::string& name : filter->names) indexes.append(name);
      }
      list.append(with_valid_text(one.done()));
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_plan_cache_list_filters_command() {
  return std::make_unique<PlanCacheListFilters>();
}

}  // namespace server
