// grantPrivilegesToRole, revokePrivilegesFromRole, grantRolesToRole and revokeRolesFromRole change a role.
#include "server/commands/users/role_checks.h"

namespace server {
namespace {

class ChangePrivileges : public Command {
 public:
  explicit ChangePrivileges(bool grants) : grants_(grants) {}
  std::string_view name() const override { return grants_ ? "grantPrivilegesToRole" : "revokePrivilegesFromRole"; }
  std::string_view help() const override { return grants_ ? "Grants privileges to a role" : "Revokes privileges from a role"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"privileges"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const Name role = named_principal(request);
    require_own_role(role);
    const access::Privileges given = privileges_of(Arguments(request), "privileges");
    if (grants_) require_grantable(role, given);
    const base::MutexLock alone(changing_principals());
    access::Privileges privileges = users::read_role(stored_role(op, role)).privileges;
    if (grants_) privileges.add(given);
    if (!grants_) {
      for (const access::Privilege& one : given.all()) privileges.remove(one);
    }
    change_principal(op, users::roles_ns, role, privileges_field(privileges));
  }

 private:
  const bool grants_;
};

class ChangeInheritance : public Command {
 public:
  explicit ChangeInheritance(bool grants) : grants_(grants) {}
  std::string_view name() const override { return grants_ ? "grantRolesToRole" : "revokeRolesFromRole"; }
  std::string_view help() const override {
    return grants_ ? "Grants roles to another role." : "Revokes roles from another role.";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"roles"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const Name role = named_principal(request);
    require_own_role(role);
    const std::vector<Name> given = role_names(Arguments(request), "roles", request.db);
    const base::MutexLock alone(changing_principals());
    const std::vector<Name> roles = users::read_role(stored_role(op, role)).roles;
    require_roles(users_of(op), given);
    if (grants_) require_grantable(users_of(op), role, given);
    change_principal(op, users::roles_ns, role, roles_field(changed_roles(roles, given, grants_)));
  }

 private:
  const bool grants_;
};

}  // namespace

std::unique_ptr<Command> make_grant_privileges_to_role_command() {
  return std::make_unique<ChangePrivileges>(true);
}
std::unique_ptr<Command> make_revoke_privileges_from_role_command() {
  return std::make_unique<ChangePrivileges>(false);
}
std::unique_ptr<Command> make_grant_roles_to_role_command() {
  return std::make_unique<ChangeInheritance>(true);
}
std::unique_ptr<Command> make_revoke_roles_from_role_command() {
  return std::make_unique<ChangeInheritance>(false);
}

}  // namespace server
