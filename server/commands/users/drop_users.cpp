// dropUser removes a user, and dropAllUsersFromDatabase all of a database. Connections that are logged in as one lose the login.
#include "base/error.h"
#include "server/commands/users/principal_writes.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

class DropUser : public Command {
 public:
  std::string_view name() const override { return "dropUser"; }
  std::string_view help() const override { return "Drops a single user."; }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const Name user = named_principal(request);
    const base::MutexLock alone(changing_principals());
    if (!remove_principal(op, users::users_ns, user))
      throw OperationError(ErrorCode::user_not_found, "User '" + user.text() + "' not found");
  }
};

class DropAllUsers : public Command {
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

std::unique_ptr<Command> make_drop_user_command() {
  return std::make_unique<DropUser>();
}
std::unique_ptr<Command> make_drop_all_users_from_database_command() {
  return std::make_unique<DropAllUsers>();
}

}  // namespace server
