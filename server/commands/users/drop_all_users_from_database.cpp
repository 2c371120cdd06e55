// dropAllUsersFromDatabase removes all users of a database. Connections that are logged in as one of them lose the login.
#include "server/commands/users/principal_writes.h"

namespace server {
namespace {

class DropAllUsersFromDatabase : public Command {
 public:
  std::string_view name() const override { return "dropAllUsersFromDatabase"; }
  std::string_view help() const override { return "Drops all users for a single database."; }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const base::MutexLock alone(changing_principals());
    reply.append("n", static_cast<int32_t>(remove_principals(op, users::users_ns, request.db)));
  }
};

}  // namespace

std::unique_ptr<Command> make_drop_all_users_from_database_command() {
  return std::make_unique<DropAllUsersFromDatabase>();
}

}  // namespace server
