// createRole defines a role.
#include "base/error.h"
#include "server/commands/users/role_fields.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

class CreateRole : public Command {
 public:
  std::string_view name() const override { return "createRole"; }
  std::string_view help() const override { return "Adds a role to the system"; }
  std::optional<FieldNames> fields() const override { return role_field_names; }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const Name role = named_principal(request);
    if (role.db == "local") throw OperationError(ErrorCode::bad_value, "Cannot create roles in the local database");
    if (role.db == users::external_db)
      throw OperationError(ErrorCode::bad_value, "Cannot create roles in the $external database");
    if (access::is_builtin_role(role))
      throw OperationError(ErrorCode::bad_value, "Cannot create roles with the same name as a built-in role");
    const base::MutexLock alone(changing_principals());
    bson::Builder fields;
    fields.append("_id", users::principal_id(role)).append("role", role.name).append("db", role.db);
    append_role_fields(op, request, role, true, fields);
    insert_principal(op, users::roles_ns, role, fields.done());
  }
};

}  // namespace

std::unique_ptr<Command> make_create_role_command() {
  return std::make_unique<CreateRole>();
}

}  // namespace server
