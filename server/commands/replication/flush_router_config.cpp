// flushRouterConfig forgets the cached routes of a sharded cluster; a server outside of one refuses.
#include "base/error.h"
#include "server/core/command.h"

namespace server {
namespace {

class FlushRouterConfig : public Command {
 public:
  std::string_view name() const override { return "flushRouterConfig"; }
  std::vector<std::string_view> aliases() const override { return {"flushrouterconfig"}; }
  std::string_view help() const override { return "flush the cached routing information of a sharded cluster"; }
  bool admin_only() const override { return true; }

  void run(OperationContext&, const Request&, bson::Builder&) override {
    constexpr int32_t sharding_state_not_initialized = 203;
    throw base::OperationError(sharding_state_not_initialized, "Sharding is not enabled");
  }
};

}  // namespace

std::unique_ptr<Command> make_flush_router_config_command() {
  return std::make_unique<FlushRouterConfig>();
}

}  // namespace server
