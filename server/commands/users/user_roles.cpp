// grantRolesToUser and revokeRolesFromUser change what a user may do.
#include "server/commands/users/principal_writes.h"

namespace server {
namespace {

class ChangeUserRoles : public Command {
 public:
  explicit ChangeUserRoles(bool grants) : grants_(grants) {}
  std::string_view name() const override { return grants_ ? "grantRolesToUser" : "revokeRolesFromUser"; }
  std::string_view help() const override { return grants_ ? "Grants roles to a user." : "Revokes roles from a user."; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"roles"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const Name user = named_principal(request);
    const std::vector<Name> given = role_names(Arguments(request), "roles", request.db);
    require_roles(users_of(op), given);
    const base::MutexLock alone(changing_principals());
    const std::vector<Name> roles = changed_roles(users::read_user(stored_user(op, user)).roles, given, grants_);
    change_principal(op, users::users_ns, user, roles_field(roles));
  }

 private:
  const bool grants_;
};

}  // namespace

std::unique_ptr<Command> make_grant_roles_to_user_command() {
  return std::make_unique<ChangeUserRoles>(true);
}
std::unique_ptr<Command> make_revoke_roles_from_user_command() {
  return std::make_unique<ChangeUserRoles>(false);
}

}  // namespace server
