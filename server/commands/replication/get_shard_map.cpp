// getShardMap returns the shards that a server knows; one outside of a sharded cluster refuses.
#include "base/error.h"
#include "server/core/command.h"

namespace server {
namespace {

class GetShardMap : public Command {
 public:
  std::string_view name() const override { return "getShardMap"; }
  std::string_view help() const override { return "lists the set of shards known to this instance"; }
  bool admin_only() const override { return true; }

  void run(OperationContext&, const Request&, bson::Builder&) override {
    constexpr int32_t sharding_state_not_initialized = 203;
    throw base::OperationError(sharding_state_not_initialized, "Sharding is not enabled");
  }
};

}  // namespace

std::unique_ptr<Command> make_get_shard_map_command() {
  return std::make_unique<GetShardMap>();
}

}  // namespace server
