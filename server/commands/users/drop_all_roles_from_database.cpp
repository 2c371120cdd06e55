// dropAllRolesFromDatabase removes the roles that a database has of its own. Users and roles that have one lose it first.
#include "server/commands/users/lost_roles.h"

namespace server {
namespace {

class DropAllRolesFromDatabase : public Command {
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

std::unique_ptr<Command> make_drop_all_roles_from_database_command() {
  return std::make_unique<DropAllRolesFromDatabase>();
}

}  // namespace server
