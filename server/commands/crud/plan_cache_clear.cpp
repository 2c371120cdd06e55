// planCacheClear forgets the plans of earlier queries: all on a collection, or those of one shape.
#include "server/commands/crud/plan_cache_request.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/plan/plan_cache.h"

namespace server {
namespace {

class PlanCacheClear : public Command {
 public:
  std::string_view name() const override { return "planCacheClear"; }
  std::string_view help() const override { return "Drops one or all plan cache entries in a collection."; }
  bool takes_collection() const override { return true; }

  // It succeeds also if there is no such collection, as in MongoDB.
  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const auto query = optional_query(op, request);
    const uint32_t collection = requested_collection(op, request);
    if (collection == 0) return;
    if (query) {
      op.services().plan_cache.clear({collection, query->shape});
    } else {
      op.services().plan_cache.clear(collection);
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_plan_cache_clear_command() {
  return std::make_unique<PlanCacheClear>();
}

}  // namespace server
