// Stores users and roles. One change at a time is read, made and written.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "base/mutex.h"
#include "bson/builder.h"
#include "server/commands/users/principal_arguments.h"

namespace server {

// Held while a user or role is read, changed and written.
base::Mutex& changing_principals();

// Throws DuplicateKey as 51003 (user) or 51002 (role).
void insert_principal(OperationContext& op, const char* ns, const Name& name, bson::DocumentView document);
// Puts `fields` in the place of those that the document has; a field whose value is null is removed. Throws UserNotFound (11), or
// RoleNotFound (31), if there is no such document.
void change_principal(OperationContext& op, const char* ns, const Name& name, bson::DocumentView fields);
// Returns whether it was there.
bool remove_principal(OperationContext& op, const char* ns, const Name& name);
// Removes all of the database. Returns how many there were.
int64_t remove_principals(OperationContext& op, const char* ns, std::string_view db);

// The stored document. Throws UserNotFound, RoleNotFound.
bson::Document stored_user(const OperationContext& op, const Name& name);
bson::Document stored_role(const OperationContext& op, const Name& name);

// Returns `roles` with the given ones at their end, or without them.
std::vector<Name> changed_roles(std::vector<Name> roles, const std::vector<Name>& given, bool grants);
bson::Document roles_field(const std::vector<Name>& roles);             // {roles: [{role, db}, …]}
bson::Document privileges_field(const access::Privileges& privileges);  // {privileges: […]}

}  // namespace server
