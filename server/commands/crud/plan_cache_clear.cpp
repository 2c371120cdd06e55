// planCacheClear forgets the plans of earlier queries. This server keeps none: each query tries its plans anew.
#include "server/commands/crud/plan_cache_request.h"
#include "server/core/command.h"
#include "server/core/operation.h"

namespace server {
namespace {

class PlanCacheClear : public Command {
 public:
  std::string_view name() const override { return "planCacheClear"; }
  std::string_view help() const override { return "Drops one or all plan cache entries in a collection."; }
  bool takes_collection() const override { return true; }

  // It succeeds also if there is no such collection, as in MongoDB.
  void run(OperationContext& op, const Request& request, bson::Builder&) override { optional_query(op, request); }
};

}  // namespace

std::unique_ptr<Command> make_plan_cache_clear_command() {
  return std::make_unique<PlanCacheClear>();
}

}  // namespace server
