// createUser makes a user of a database.
#include "base/error.h"
#include "base/uuid.h"
#include "server/commands/users/principal_writes.h"
#include "server/commands/users/user_fields.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

class CreateUser : public Command {
 public:
  std::string_view name() const override { return "createUser"; }
  std::string_view help() const override { return "Adds a user to the system"; }
  std::optional<FieldNames> fields() const override { return UserFields::names; }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const Name user = named_principal(request);
    if (user.db == "local") throw OperationError(ErrorCode::bad_value, "Cannot create users in the local database");
    Arguments(request).required_array("roles");
    const UserFields fields(op, request, user);
    if (!fields.password && user.db != users::external_db) {
      throw OperationError(
          ErrorCode::bad_value,
          "Must provide a 'pwd' field for all user documents, except those with '$external' as the user's source db");
    }
    require_roles(users_of(op), *fields.roles);
    bson::Builder document;
    document.append("_id", users::principal_id(user))
        .append("userId", bson::Binary{4, base::random_uuid()})
        .append("user", user.name)
        .append("db", user.db);
    fields.append_credentials(op, user, document);
    fields.append_others(document);
    const bson::Document made = document.done();
    const base::MutexLock alone(changing_principals());
    insert_principal(op, users::users_ns, user, made);
  }
};

}  // namespace

std::unique_ptr<Command> make_create_user_command() {
  return std::make_unique<CreateUser>();
}

}  // namespace server
