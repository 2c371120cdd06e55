// usersInfo returns users by name, or all of a database. There is no access control, and so there are no users.
#include "server/commands/sessions/named_principals.h"

namespace server {
namespace {

class UsersInfo : public Command {
 public:
  std::string_view name() const override { return "usersInfo"; }
  std::string_view help() const override { return "Returns information about users."; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"showPrivileges", "showCredentials", "showCustomData",
                                                 "showAuthenticationRestrictions", "filter"};
    return names;
  }

  void run(OperationContext&, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    check_principals(request.body.first(), "usersInfo", "user");
    for (const std::string_view option :
         {"showPrivileges", "showCredentials", "showCustomData", "showAuthenticationRestrictions"}) {
      arguments.loose_boolean(option);
    }
    arguments.object("filter");
    reply.array("users");
  }
};

}  // namespace

std::unique_ptr<Command> make_users_info_command() {
  return std::make_unique<UsersInfo>();
}

}  // namespace server
