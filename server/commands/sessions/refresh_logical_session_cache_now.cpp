// refreshLogicalSessionCacheNow does at once what otherwise happens every few
// minutes; tests use it.
#include "server/core/command.h"
#include "server/core/fail_points.h"
#include "server/core/operation.h"
#include "server/core/services.h"

namespace server {
namespace {

class RefreshLogicalSessionCacheNow : public Command {
 public:
  std::string_view name() const override { return "refreshLogicalSessionCacheNow"; }
  std::string_view help() const override { return "force the logical session cache to refresh. Test command only."; }
  bool admin_only() const override { return true; }

  void run(OperationContext& op, const Request&, bson::Builder&) override {
    if (!op.services().fail_points.enabled) {
      throw base::OperationError(base::ErrorCode::command_not_found, "no such command: 'refreshLogicalSessionCacheNow'");
    }
    if (op.services().refresh_sessions) op.services().refresh_sessions();
  }
};

}  // namespace

std::unique_ptr<Command> make_refresh_logical_session_cache_now_command() {
  return std::make_unique<RefreshLogicalSessionCacheNow>();
}

}  // namespace server
