// replSetGetConfig returns the configuration in use.
#include "server/commands/replication/replica_set.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"

namespace server {
namespace {

class ReplSetGetConfig : public ReplicaSetCommand {
 public:
  std::string_view name() const override { return "replSetGetConfig"; }
  std::string_view help() const override { return "Returns the current replica set configuration"; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const replication::Coordinator& set = set_of(op);
    const bool commitment = Arguments(request).boolean("commitmentStatus").value_or(false);
    const replication::Standing now = set.standing();
    if (!now.config) throw base::OperationError(base::ErrorCode::not_yet_initialized, "no replset config has been received");
    if (commitment && now.state != replication::MemberState::primary) {
      throw base::OperationError(base::ErrorCode::not_writable_primary, "commitmentStatus is only supported on primary.");
    }
    reply.append("config", now.config->document());
    // If the configuration is majority-committed, so is everything that was committed under the one before.
    if (commitment) reply.append("commitmentStatus", set.progress().committed.optime.ts >= now.config_written);
  }
};

}  // namespace

std::unique_ptr<Command> make_repl_set_get_config_command() {
  return std::make_unique<ReplSetGetConfig>();
}

}  // namespace server
