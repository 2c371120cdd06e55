// isMaster is hello for older drivers.
#include "server/commands/replication/handshake.h"

namespace server {
namespace {

class IsMaster : public Handshake {
 public:
  IsMaster() : Handshake("ismaster") {}
  std::string_view name() const override { return "isMaster"; }
  std::vector<std::string_view> aliases() const override { return {"ismaster"}; }
};

}  // namespace

std::unique_ptr<Command> make_is_master_command() {
  return std::make_unique<IsMaster>();
}

}  // namespace server
