// updateRole changes what a role may do.
#include <algorithm>

#include "base/error.h"
#include "server/commands/users/role_checks.h"
#include "server/commands/users/role_fields.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

class UpdateRole : public Command {
 public:
  std::string_view name() const override { return "updateRole"; }
  std::string_view help() const override { return "Used to update a role"; }
  std::optional<FieldNames> fields() const override { return role_field_names; }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const Name role = named_principal(request);
    require_own_role(role);
    const auto given = [&](std::string_view field) { return request.body.has(field); };
    if (std::none_of(std::begin(role_field_names), std::end(role_field_names), given))
      throw OperationError(ErrorCode::bad_value, "Must specify at least one field to update in updateRole");
    const base::MutexLock alone(changing_principals());
    bson::Builder fields;
    append_role_fields(op, request, role, false, fields);
    change_principal(op, users::roles_ns, role, fields.done());
  }
};

}  // namespace

std::unique_ptr<Command> make_update_role_command() {
  return std::make_unique<UpdateRole>();
}

}  // namespace server
