// dropRole removes a role. Users and roles that have it lose it first.
#include "server/commands/users/lost_roles.h"
#include "server/commands/users/role_checks.h"

namespace server {
namespace {

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

}  // namespace

std::unique_ptr<Command> make_drop_role_command() {
  return std::make_unique<DropRole>();
}

}  // namespace server
