// createRole defines a role, and updateRole changes one.
#include "base/error.h"
#include "server/commands/users/role_checks.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

class WriteRole : public Command {
 public:
  explicit WriteRole(bool creates) : creates_(creates) {}
  std::string_view name() const override { return creates_ ? "createRole" : "updateRole"; }
  std::string_view help() const override { return creates_ ? "Adds a role to the system" : "Used to update a role"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"privileges", "roles", "authenticationRestrictions"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const Name role = named_principal(request);
    const Arguments arguments(request);
    if (creates_) {
      if (role.db == "local") throw OperationError(ErrorCode::bad_value, "Cannot create roles in the local database");
      if (role.db == users::external_db)
        throw OperationError(ErrorCode::bad_value, "Cannot create roles in the $external database");
      if (access::is_builtin_role(role))
        throw OperationError(ErrorCode::bad_value, "Cannot create roles with the same name as a built-in role");
    } else {
      require_own_role(role);
    }
    if (!creates_ && !request.body.has("privileges") && !request.body.has("roles") &&
        !request.body.has("authenticationRestrictions"))
      throw OperationError(ErrorCode::bad_value, "Must specify at least one field to update in updateRole");
    bson::Builder fields;
    if (creates_) fields.append("_id", users::principal_id(role)).append("role", role.name).append("db", role.db);
    if (creates_ || request.body.has("privileges")) {
      const access::Privileges privileges = privileges_of(arguments, "privileges");
      require_grantable(role, privileges);
      fields.append_all(privileges_field(privileges));
    }
    const base::MutexLock alone(changing_principals());
    if (creates_ || request.body.has("roles")) {
      const std::vector<Name> roles = role_names(arguments, "roles", request.db);
      require_roles(users_of(op), roles);
      require_grantable(users_of(op), role, roles);
      fields.append_all(roles_field(roles));
    }
    if (const auto list = arguments.array("authenticationRestrictions"))
      fields.append_array("authenticationRestrictions", access::Restrictions::parse(*list).array());
    if (creates_)
      insert_principal(op, users::roles_ns, role, fields.done());
    else
      change_principal(op, users::roles_ns, role, fields.done());
  }

 private:
  const bool creates_;
};

}  // namespace

std::unique_ptr<Command> make_create_role_command() {
  return std::make_unique<WriteRole>(true);
}
std::unique_ptr<Command> make_update_role_command() {
  return std::make_unique<WriteRole>(false);
}

}  // namespace server
