// logRotate closes the files of the log and of the audit log, and continues in new ones. It does nothing about a log that doesn't
// go to a file.
#include "base/error.h"
#include "base/log.h"
#include "server/core/audit.h"
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
    const std::string_view which = what.is_string() ? what.as_string() : "";
    if (!which.empty() && which != "server" && which != "audit") {
      throw base::OperationError(base::ErrorCode::no_such_key,
                                 "Unknown log type '" + std::string(which) + "', should be 'server' or 'audit'");
    }
    base::log(base::Severity::info, base::LogComponent::control, 23166, "Log rotation requested");
    if (which != "server" && op.services().audit) op.services().audit->rotate();
    if (which == "audit" || op.services().options.log_path.empty()) return;
    if (!base::rotate_log())
      throw base::OperationError(base::ErrorCode::operation_failed, "Log rotation failed: the log file could not be moved");
  }
};

}  // namespace

std::unique_ptr<Command> make_log_rotate_command() {
  return std::make_unique<LogRotate>();
}

}  // namespace server
