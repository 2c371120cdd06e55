#include "server/commands/users/lost_roles.h"

namespace server {

namespace {

using Gone = std::function<bool(const Name& role)>;

void take_from(OperationContext& op, const char* ns, const Name& holder, std::vector<Name> roles, const Gone& gone) {
  if (std::erase_if(roles, gone) > 0) change_principal(op, ns, holder, roles_field(roles));
}

}  // namespace

void take_from_all(OperationContext& op, const Gone& gone) {
  for (const bson::Document& document : users_of(op).user_documents()) {
    const users::User user = users::read_user(document);
    take_from(op, users::users_ns, user.name, user.roles, gone);
  }
  for (const bson::Document& document : users_of(op).role_documents()) {
    const users::Role role = users::read_role(document);
    take_from(op, users::roles_ns, role.name, role.roles, gone);
  }
}

}  // namespace server
