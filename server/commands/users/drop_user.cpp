// dropUser removes a user. Connections that are logged in as the user lose the login.
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

}  // namespace

std::unique_ptr<Command> make_drop_user_command() {
  return std::make_unique<DropUser>();
}

}  // namespace server
