// replSetHeartbeat tells another member this one's state.
#include "base/log.h"
#include "server/commands/replication/replica_set.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/peers/members.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"

namespace server {
namespace {

class ReplSetHeartbeat : public ReplicaSetCommand {
 public:
  std::string_view name() const override { return "replSetHeartbeat"; }
  std::string_view help() const override { return "internal command for replica set members"; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    replication::Coordinator& set = set_of(op);
    const peers::HeartbeatRequest heartbeat = peers::HeartbeatRequest::parse(request.body);
    peers::HeartbeatReply answer = peers::answer_heartbeat(heartbeat, set);
    if (heartbeat.check_empty) answer.has_data = has_data(op.services());
    answer.append_to(reply);
    if (peers::Members* members = op.services().members) members->heard_from(heartbeat.from);
    if (heartbeat.new_config && heartbeat.config.newer_than(answer.config)) learn(set, heartbeat);
  }

 private:
  // The answer doesn't change: the sender sees the effect at its next heartbeat.
  static void learn(replication::Coordinator& set, const peers::HeartbeatRequest& heartbeat) {
    try {
      const replication::SetConfig config = replication::parse_set_config(*heartbeat.new_config);
      if (config.name == set.set_name()) set.learn_config(config, heartbeat.from);
    } catch (const base::OperationError& error) {
      base::log(base::Severity::warning, base::LogComponent::repl, 7100020, "A member's configuration can't be taken over",
                base::Attributes().add("from", heartbeat.from).add("error", error.what()));
    }
  }

  // Returns whether there are documents of clients, beside the server's own.
  static bool has_data(const Services& services) {
    if (!services.store) return false;
    for (const auto& db : services.store->catalog().databases()) {
      if (db == "local" || db == "config") continue;
      if (!services.store->catalog().collections(db).empty()) return true;
    }
    return false;
  }
};

}  // namespace

std::unique_ptr<Command> make_repl_set_heartbeat_command() {
  return std::make_unique<ReplSetHeartbeat>();
}

}  // namespace server
