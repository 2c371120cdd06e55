// createUser makes a user of a database.
#include "base/error.h"
#include "server/access/scram.h"
#include "server/commands/users/principal_writes.h"
#include "server/commands/users/user_fields.h"
#include "server/core/audit.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

bson::Bytes new_user_id() {
  bson::Bytes id = access::random_bytes(16);
  id[6] = static_cast<char>((id[6] & 0x0f) | 0x40);
  id[8] = static_cast<char>((id[8] & 0x3f) | 0x80);
  return id;
}

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
        .append("userId", bson::Binary{4, new_user_id()})
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
