#include "server/commands/users/role_checks.h"

#include <algorithm>

#include "base/error.h"

namespace server {
namespace {

constexpr int invalid_role_modification = 49;

[[noreturn]] void refuse(const std::string& why) {
  throw base::OperationError(invalid_role_modification, why);
}

// A database's own states belong to it: roles of "shop" may be about "shop@dev".
bool is_of(const std::string& db, const std::string& resource_db) {
  return resource_db == db || resource_db.starts_with(db + "@");
}

}  // namespace

void require_own_role(const Name& role) {
  if (access::is_builtin_role(role)) refuse(role.text() + " is a built-in role and cannot be modified");
}

void require_grantable(const users::Users& users, const Name& role, const std::vector<Name>& roles) {
  for (const Name& granted : roles) {
    if (granted == role) refuse("Cannot grant role " + role.text() + " to itself.");
    if (role.db != "admin" && !is_of(role.db, granted.db))
      refuse("Roles on the '" + role.db + "' database cannot be granted roles from other databases");
  }
  if (users.resolve(roles).roles.contains(role)) {
    refuse("Granting " + roles.front().text() + " to " + role.text() + " would introduce a cycle in the role graph");
  }
}

void require_grantable(const Name& role, const access::Privileges& privileges) {
  if (role.db == "admin") return;
  for (const access::Privilege& one : privileges.all()) {
    if (one.resource.kind == access::ResourcePattern::Kind::names && is_of(role.db, one.resource.db)) continue;
    refuse("Roles on the '" + role.db + "' database cannot be granted privileges that target other databases or the cluster");
  }
}

}  // namespace server
