// shardingState says whether the server is part of a sharded cluster. It never is.
#include "server/core/command.h"

namespace server {
namespace {

class ShardingState : public Command {
 public:
  std::string_view name() const override { return "shardingState"; }
  std::string_view help() const override { return "internal: whether this server is part of a sharded cluster"; }
  bool admin_only() const override { return true; }

  void run(OperationContext&, const Request&, bson::Builder& reply) override { reply.append("enabled", false); }
};

}  // namespace

std::unique_ptr<Command> make_sharding_state_command() {
  return std::make_unique<ShardingState>();
}

}  // namespace server
