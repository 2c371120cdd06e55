// Roles that are dropped go from the users and roles that have them first.
#pragma once

#include <functional>

#include "server/commands/users/principal_writes.h"

namespace server {

// Takes the roles for which `gone` returns true from all users and roles that have them. The caller holds changing_principals().
void take_from_all(OperationContext& op, const std::function<bool(const Name& role)>& gone);

}  // namespace server
