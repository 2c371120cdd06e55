#include "server/commands/users/role_fields.h"

#include "server/commands/users/role_checks.h"

namespace server {

void append_role_fields(OperationContext& op, const Request& request, const Name& role, bool required, bson::Builder& fields) {
  const Arguments arguments(request);
  if (required || request.body.has("privileges")) {
    const access::Privileges privileges = privileges_of(arguments, "privileges");
    require_grantable(role, privileges);
    fields.append_all(privileges_field(privileges));
  }
  if (required || request.body.has("roles")) {
    const std::vector<Name> roles = role_names(arguments, "roles", request.db);
    require_roles(users_of(op), roles);
    require_grantable(users_of(op), role, roles);
    fields.append_all(roles_field(roles));
  }
  if (const auto list = arguments.array("authenticationRestrictions"))
    fields.append_array("authenticationRestrictions", access::Restrictions::parse(*list).array());
}

}  // namespace server
