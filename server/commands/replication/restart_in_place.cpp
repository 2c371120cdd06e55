// restartInPlace restarts the process as a member of a replica set does by itself, for tests (restart.h).
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/fail_points.h"
#include "server/core/operation.h"
#include "server/core/services.h"

namespace server {
namespace {

class RestartInPlace : public Command {
 public:
  std::string_view name() const override { return "restartInPlace"; }
  std::string_view help() const override { return "for tests: the process ends in order and starts anew"; }
  bool admin_only() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    if (!op.services().fail_points.enabled)
      throw base::OperationError(base::ErrorCode::command_not_found, "no such command: 'restartInPlace'");
    op.services().restart(std::string(Arguments(request).string("reason").value_or("a test asked for it")));
  }
};

}  // namespace

std::unique_ptr<Command> make_restart_in_place_command() {
  return std::make_unique<RestartInPlace>();
}

}  // namespace server
