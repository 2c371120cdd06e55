// updateUser changes a user: the fields that are given take the place of the stored ones.
#include "base/error.h"
#include "server/commands/users/principal_writes.h"
#include "server/commands/users/user_fields.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

class UpdateUser : public Command {
 public:
  std::string_view name() const override { return "updateUser"; }
  std::string_view help() const override { return "Used to update a user, for example to change its password"; }
  std::optional<FieldNames> fields() const override { return UserFields::names; }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const Name user = named_principal(request);
    const UserFields fields(op, request, user);
    if (!fields.password && !fields.custom_data && !fields.roles && !fields.restrictions && !fields.mechanisms)
      throw OperationError(ErrorCode::bad_value, "Must specify at least one field to update in updateUser");
    if (fields.roles) require_roles(users_of(op), *fields.roles);
    const base::MutexLock alone(changing_principals());
    const bson::Document stored = stored_user(op, user);
    bson::Builder changes;
    if (fields.password)
      fields.append_credentials(op, user, changes);
    else if (fields.mechanisms)
      keep_credentials(stored, *fields.mechanisms, changes);
    fields.append_others(changes);
    change_principal(op, users::users_ns, user, changes.done());
  }

 private:
  // Without a new password, a user can only lose ways to log in.
  static void keep_credentials(bson::DocumentView stored, const std::vector<std::string>& mechanisms, bson::Builder& changes) {
    const auto before = stored.find("credentials");
    auto credentials = changes.object("credentials");
    for (const std::string& mechanism : mechanisms) {
      const auto one = before.is_object() ? before.as_document().find(mechanism) : bson::Element();
      if (!one.exists())
        throw OperationError(ErrorCode::bad_value, "mechanisms field must be a subset of previously set mechanisms");
      credentials.append_element(one);
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_update_user_command() {
  return std::make_unique<UpdateUser>();
}

}  // namespace server
