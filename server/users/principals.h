// A principal is a user or a role, as the documents of admin.system.users and admin.system.roles have it.
#pragma once

#include <vector>

#include "bson/document.h"
#include "server/access/builtin_roles.h"
#include "server/access/restriction.h"
#include "server/access/scram.h"

namespace server::users {

inline constexpr char users_ns[] = "admin.system.users";
inline constexpr char roles_ns[] = "admin.system.roles";
// Its document authSchema says in which form users and roles are; the first of them brings it. mongodump wants it.
inline constexpr char version_ns[] = "admin.system.version";
inline constexpr char external_db[] = "$external";  // of users who log in with certificates

using access::Name;

// Returns the _id of a principal's document.
std::string principal_id(const Name& name);

struct User {
  Name name;
  base::Bytes id;                                      // 16 bytes; empty: an old document without a userId
  std::vector<access::ScramCredentials> sha1, sha256;  // one or none
  bool external = false;
  std::vector<Name> roles;
  access::Restrictions restrictions;
};
// Throws UnsupportedFormat (12) for a document that no user has.
User read_user(bson::DocumentView document);

struct Role {
  Name name;
  access::Privileges privileges;
  std::vector<Name> roles;
  access::Restrictions restrictions;
};
// Throws UnsupportedFormat (12).
Role read_role(bson::DocumentView document);

// Reads [{role, db}, …].
std::vector<Name> read_names(bson::DocumentView list);
void append_names(bson::ArrayBuilder& out, const std::vector<Name>& names);

}  // namespace server::users
