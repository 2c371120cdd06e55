// logRotate closes the log file and continues in a new one. It does nothing if the log doesn't go to a file.
#include "base/error.h"
#include "base/log.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/options.h"
#include "server/core/services.h"

namespace server {
namespace {

class LogRotate : public Command {
 public:
  std::string_view name() const override { return "logRotate"; }
  std::string_view help() const override { return "rotate the server log"; }
  bool admin_only() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const auto what = request.body.first();
    if (what.is_string() && what.as_string() != "server") {
      throw base::OperationError(base::ErrorCode::no_such_key,
                                 "Unknown log type '" + std::string(what.as_string()) + "', should be 'server' or 'audit'");
    }
    base::log(base::Severity::info, base::LogComponent::control, 23166, "Log rotation requested");
    if (op.services().options.log_path.empty()) return;
    if (!base::rotate_log())
      throw base::OperationError(base::ErrorCode::operation_failed, "Log rotation failed: the log file could not be moved");
  }
};

}  // namespace

std::unique_ptr<Command> make_log_rotate_command() {
  return std::make_unique<LogRotate>();
}

}  // namespace server
