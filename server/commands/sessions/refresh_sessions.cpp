// refreshSessions keeps sessions alive that a client still uses.
#include "base/clock.h"
#include "server/commands/sessions/sessions.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/core/session_registry.h"

namespace server {
namespace {

class RefreshSessions : public Command {
 public:
  std::string_view name() const override { return "refreshSessions"; }
  std::string_view help() const override { return "renew a set of logical sessions"; }
  bool stable_api() const override { return true; }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    for (const auto& lsid : session_ids(request)) {
      op.services().sessions.use(session_key(lsid.as_document(), op.client()), op.services().clock.wall_ms());
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_refresh_sessions_command() {
  return std::make_unique<RefreshSessions>();
}

}  // namespace server
