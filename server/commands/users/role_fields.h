// createRole and updateRole say in the same fields what a role may do.
#pragma once

#include "server/commands/users/principal_writes.h"

namespace server {

constexpr std::string_view role_field_names[] = {"privileges", "roles", "authenticationRestrictions"};

// Appends those of these fields that the request has, as a role's document keeps them. Throws if there is no such role or action,
// or if the role can't have it (role_checks.h). `required`: privileges and roles must be there. The caller holds
// changing_principals().
void append_role_fields(OperationContext& op, const Request& request, const Name& role, bool required, bson::Builder& fields);

}  // namespace server
