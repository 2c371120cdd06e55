// connectionStatus says who this connection is logged in as, and what he may do.
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"

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

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const bool privileges = Arguments(request).loose_boolean("showPrivileges").value_or(false);
    const access::AuthorityPtr authority = op.client().authority();
    auto info = reply.object("authInfo");
    {
      auto users = info.array("authenticatedUsers");
      if (authority) users.object().append("user", authority->user.name).append("db", authority->user.db);
    }
    {
      auto roles = info.array("authenticatedUserRoles");
      if (authority) {
        for (const access::Name& role : authority->roles) roles.object().append("role", role.name).append("db", role.db);
      }
    }
    if (!privileges) return;
    auto list = info.array("authenticatedUserPrivileges");
    if (authority) authority->privileges.append_to(list);
  }
};

}  // namespace

std::unique_ptr<Command> make_connection_status_command() {
  return std::make_unique<ConnectionStatus>();
}

}  // namespace server
