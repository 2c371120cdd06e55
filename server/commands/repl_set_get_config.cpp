// replSetGetConfig: the configuration in use.
#include "server/commands/replica_set.h"
#include "server/operation.h"

namespace server {
namespace {

class ReplSetGetConfig : public ReplicaSetCommand {
 public:
  std::string_view name() const override { return "replSetGetConfig"; }
  std::string_view help() const override { return "Returns the current replica set configuration"; }
  bool may_block() const override { return false; }

  void run(OperationContext& op, const Request&, bson::Builder& reply) override {
    const replication::Standing now = set_of(op).standing();
    if (!now.config) throw base::OperationError(base::ErrorCode::not_yet_initialized, "no replset config has been received");
    reply.append("config", now.config->document());
  }
};

}  // namespace

std::unique_ptr<Command> make_repl_set_get_config_command() { return std::make_unique<ReplSetGetConfig>(); }

}  // namespace server
