// replSetMaintenance keeps clients from reading from this member for a while.
#include "server/commands/replication/replica_set.h"
#include "server/core/operation.h"

namespace server {
namespace {

class ReplSetMaintenance : public ReplicaSetCommand {
 public:
  std::string_view name() const override { return "replSetMaintenance"; }
  std::string_view help() const override { return "{ replSetMaintenance : bool }\nEnable or disable maintenance mode."; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    set_of(op).maintain(request.body.first().truthy());
  }
};

}  // namespace

std::unique_ptr<Command> make_repl_set_maintenance_command() {
  return std::make_unique<ReplSetMaintenance>();
}

}  // namespace server
