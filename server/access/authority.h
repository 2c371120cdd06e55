// An authority is who a connection logged in as, and what that user may do.
#pragma once

#include <memory>
#include <optional>
#include <set>

#include "server/access/builtin_roles.h"
#include "server/access/privileges.h"

namespace server::access {

// Immutable: when the user changes, the connection gets another one.
struct Authority {
  Name user;
  base::Bytes user_id;   // 16 bytes, a UUID; empty: the user has none. A user who is dropped and made anew has another one
  std::set<Name> roles;  // with all that they inherit
  Privileges privileges;
  bool internal = false;  // another member of the set
  base::Bytes digest;     // SHA-256 of "user@db", by which sessions name their user
};
using AuthorityPtr = std::shared_ptr<const Authority>;

// The user that members of a set log in as.
inline constexpr char system_user[] = "__system";
AuthorityPtr internal_authority();

base::Bytes digest_of(const Name& user);
base::BytesView digest_of_nobody();  // of the empty text

}  // namespace server::access
