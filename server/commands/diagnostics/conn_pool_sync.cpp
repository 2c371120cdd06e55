// connPoolSync makes the connections to other members anew.
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/peers/members.h"

namespace server {
namespace {

class ConnPoolSync : public Command {
 public:
  std::string_view name() const override { return "connPoolSync"; }
  std::string_view help() const override { return "internal"; }

  void run(OperationContext& op, const Request&, bson::Builder&) override {
    if (peers::Members* members = op.services().members) members->reconnect();
  }
};

}  // namespace

std::unique_ptr<Command> make_conn_pool_sync_command() {
  return std::make_unique<ConnPoolSync>();
}

}  // namespace server
