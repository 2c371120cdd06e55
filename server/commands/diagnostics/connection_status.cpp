// connectionStatus says who this connection is logged in as: nobody, because there
// is no access control.
#include "server/core/arguments.h"
#include "server/core/command.h"

namespace server {
namespace {

class ConnectionStatus : public Command {
 public:
  std::string_view name() const override { return "connectionStatus"; }
  std::string_view help() const override {
    return "Returns connection-specific information such as logged-in users and their roles";
  }
  bool stable_api() const override { return true; }
  InTransaction in_transaction() const override { return InTransaction::later; }
  bool before_auth() const override { return true; }

  void run(OperationContext&, const Request& request, bson::Builder& reply) override {
    auto info = reply.object("authInfo");
    { info.array("authenticatedUsers"); }
    { info.array("authenticatedUserRoles"); }
    if (Arguments(request).loose_boolean("showPrivileges").value_or(false)) info.array("authenticatedUserPrivileges");
  }
};

}  // namespace

std::unique_ptr<Command> make_connection_status_command() {
  return std::make_unique<ConnectionStatus>();
}

}  // namespace server
