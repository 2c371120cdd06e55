// These checks hold for every role that somebody defines.
#pragma once

#include "server/commands/users/principal_writes.h"

namespace server {

// Throws InvalidRoleModification (49) for a built-in role.
void require_own_role(const Name& role);
// A role of another database than admin is about that database alone. Throws InvalidRoleModification; for a circle too.
void require_grantable(const users::Users& users, const Name& role, const std::vector<Name>& roles);
void require_grantable(const Name& role, const access::Privileges& privileges);

}  // namespace server
