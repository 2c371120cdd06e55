// replSetInitiate makes this member, and those of the given configuration, a replica set.
#include "server/commands/replication/replica_set.h"
#include "server/core/operation.h"

namespace server {
namespace {

class ReplSetInitiate : public ReplicaSetCommand {
 public:
  std::string_view name() const override { return "replSetInitiate"; }
  std::string_view help() const override { return "Initiate/christen a replica set."; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    replication::Coordinator& set = set_of(op, "This node was not started with replication enabled.");
    if (set.standing().config) throw base::OperationError(base::ErrorCode::already_initialized, "already initialized");
    const auto given = request.body.first();
    if (!given.is_object() || given.as_document().empty()) {
      set.initiate(set.default_config());
      reply.append("info2", "no configuration specified. Using a default configuration for the set");
      reply.append("me", set.standing().self->host);
      return;
    }
    set.initiate(replication::parse_set_config(given.as_document()));
  }
};

}  // namespace

std::unique_ptr<Command> make_repl_set_initiate_command() {
  return std::make_unique<ReplSetInitiate>();
}

}  // namespace server
