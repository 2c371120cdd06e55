// The commands about users and roles share these readers of the names that they are given.
#pragma once

#include <vector>

#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/users/login.h"

namespace server {

using access::Name;

// Throws IllegalOperation in a server that keeps no users.
users::Logins& logins_of(const OperationContext& op);
users::Users& users_of(const OperationContext& op);

// Reads the command's first field, a name in the request's database. Throws BadValue.
Name named_principal(const Request& request);
// Reads ["read", {role: "read", db: "shop"}, …]; a text is a role of `db`. Throws FailedToParse, TypeMismatch.
std::vector<Name> role_names(const Arguments& arguments, std::string_view field, const std::string& db);
// Throws RoleNotFound (31).
void require_roles(const users::Users& users, const std::vector<Name>& roles);
// Reads the privileges of an array. Throws FailedToParse.
access::Privileges privileges_of(const Arguments& arguments, std::string_view field);

// usersInfo and rolesInfo ask about these: 1, a name, {user, db}, a list of names, or {forAllDBs: true}.
struct AskedPrincipals {
  bool all_of_database = false, all = false;
  std::vector<Name> names;
};
// `kind` is "user" or "role". Throws BadValue (2) and TypeMismatch (14) for an argument that names none.
AskedPrincipals asked_principals(const Request& request, std::string_view kind);

}  // namespace server
