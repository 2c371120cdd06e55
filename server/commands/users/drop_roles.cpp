// dropRole removes a role, and dropAllRolesFromDatabase all that a database has of its own. Users and roles that have one lose it
// first.
#include <functional>

#include "base/error.h"
#include "server/commands/users/role_checks.h"

namespace server {
namespace {

using Gone = std::function<bool(const Name& role)>;

void take_from(OperationContext& op, const char* ns, const Name& holder, std::vector<Name> roles, const Gone& gone) {
  if (std::erase_if(roles, gone) > 0) change_principal(op, ns, holder, roles_field(roles));
}

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

class DropRole : public Command {
 public:
  std::string_view name() const override { return "dropRole"; }
  std::string_view help() const override { return "Drops a single role."; }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const Name role = named_principal(request);
    require_own_role(role);
    const base::MutexLock alone(changing_principals());
    stored_role(op, role);
    take_from_all(op, [&](const Name& one) { return one == role; });
    remove_principal(op, users::roles_ns, role);
  }
};

class DropAllRoles : public Command {
 public:
  std::string_view name() const override { return "dropAllRolesFromDatabase"; }
  std::string_view help() const override { return "Drops all roles from the given database."; }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const base::MutexLock alone(changing_principals());
    take_from_all(op, [&](const Name& one) { return one.db == request.db && !access::is_builtin_role(one); });
    reply.append("n", static_cast<int32_t>(remove_principals(op, users::roles_ns, request.db)));
  }
};

}  // namespace

std::unique_ptr<Command> make_drop_role_command() {
  return std::make_unique<DropRole>();
}
std::unique_ptr<Command> make_drop_all_roles_from_database_command() {
  return std::make_unique<DropAllRoles>();
}

}  // namespace server
