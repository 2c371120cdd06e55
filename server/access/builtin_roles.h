// The built-in roles are as MongoDB 7.0 documents them. Those of a database exist in every database; the others in `admin` alone.
//
// Actions on branches and snapshots belong to the roles of like power: `read` may list and compare them, `readWrite` may commit
// and merge, `dbAdmin` makes and drops them, `dbOwner` may purge. A role of "shop" covers "shop" itself, and no "shop@…": a role
// of the database "shop@dev" or "shop@*" does.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/access/privileges.h"

namespace server::access {

// A Name is the full name of a role or of a user.
struct Name {
  std::string name, db;
  bool operator==(const Name& other) const = default;
  auto operator<=>(const Name& other) const = default;
  std::string text() const { return name + "@" + db; }
};

bool is_builtin_role(const Name& role);
// Returns nullopt for a name that no built-in role has.
std::optional<Privileges> builtin_role(const Name& role);
// Returns the names of the database's built-in roles, in order.
std::vector<std::string> builtin_roles_of(std::string_view db);

}  // namespace server::access
