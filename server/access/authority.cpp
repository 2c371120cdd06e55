#include "server/access/authority.h"

#include "server/access/scram.h"

namespace server::access {

base::Bytes digest_of(const Name& user) {
  return sha256(user.text());
}

base::BytesView digest_of_nobody() {
  static const base::Bytes digest = sha256({});
  return digest;
}

AuthorityPtr internal_authority() {
  static const AuthorityPtr authority = [] {
    auto made = std::make_shared<Authority>();
    made->user = {system_user, "local"};
    made->roles = {{system_user, "admin"}};
    made->privileges = *builtin_role({system_user, "admin"});
    made->internal = true;
    made->digest = digest_of(made->user);
    return made;
  }();
  return authority;
}

}  // namespace server::access
