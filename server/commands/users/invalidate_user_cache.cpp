// invalidateUserCache forgets what was read of users and roles.
#include "server/commands/users/principal_arguments.h"

namespace server {
namespace {

class InvalidateUserCache : public Command {
 public:
  std::string_view name() const override { return "invalidateUserCache"; }
  std::string_view help() const override { return "Invalidates the cache of user information"; }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  bool admin_only() const override { return true; }

  void run(OperationContext& op, const Request&, bson::Builder&) override { users_of(op).changed(); }
};

}  // namespace

std::unique_ptr<Command> make_invalidate_user_cache_command() {
  return std::make_unique<InvalidateUserCache>();
}

}  // namespace server
