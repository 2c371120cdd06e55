// rolesInfo returns roles by name, or all of a database. There is no access control, and so there are no roles.
#include "server/commands/sessions/named_principals.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

class RolesInfo : public Command {
 public:
  std::string_view name() const override { return "rolesInfo"; }
  std::string_view help() const override { return "Returns information about roles."; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"showPrivileges", "showBuiltinRoles", "showAuthenticationRestrictions"};
    return names;
  }

  void run(OperationContext&, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    check_principals(request.body.first(), "rolesInfo", "role");
    arguments.loose_boolean("showAuthenticationRestrictions");
    const bool fragment = check_privileges(arguments.any("showPrivileges"));
    if (arguments.boolean("showBuiltinRoles").value_or(false)) {
      throw OperationError(ErrorCode::command_not_supported,
                           "this server has no access control, and so it has no built-in roles");
    }
    if (fragment)
      throw OperationError(ErrorCode::command_not_supported,
                           "this server has no access control, and so no roles make a user's fragment");
    reply.array("roles");
  }

 private:
  // Returns whether the client wants privileges as a user's document has them.
  static bool check_privileges(const bson::Element& value) {
    if (!value.exists() || value.is_number() || value.type() == bson::Type::boolean) return false;
    if (value.is_string() && value.as_string() == "asUserFragment") return true;
    throw OperationError(
        ErrorCode::failed_to_parse,
        "Failed to parse 'showPrivileges'. 'showPrivileges' should either be a boolean or the string 'asUserFragment'");
  }
};

}  // namespace

std::unique_ptr<Command> make_roles_info_command() {
  return std::make_unique<RolesInfo>();
}

}  // namespace server
