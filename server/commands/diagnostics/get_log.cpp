// getLog returns the last lines of the log, or the warnings of the start.
#include "base/error.h"
#include "base/log.h"
#include "server/core/command.h"

namespace server {
namespace {

class GetLog : public Command {
 public:
  std::string_view name() const override { return "getLog"; }
  std::string_view help() const override { return "{ getLog : '*' }  OR { getLog : 'global' }"; }
  bool admin_only() const override { return true; }

  void run(OperationContext&, const Request& request, bson::Builder& reply) override {
    const bson::Element which = request.body.first();
    if (!which.is_string()) {
      throw base::OperationError(base::ErrorCode::type_mismatch, "Argument to getLog must be of type String; found " +
                                                                     std::string(bson::type_name(which.type())));
    }
    if (which.as_string() == "*") {
      auto names = reply.array("names");
      names.append("global").append("startupWarnings");
      return;
    }
    if (which.as_string() != "global" && which.as_string() != "startupWarnings") {
      throw base::OperationError(base::ErrorCode::operation_failed, "No log named '" + std::string(which.as_string()) + "'");
    }
    const auto recent = which.as_string() == "global" ? base::recent_log_lines() : base::startup_warnings();
    reply.append("totalLinesWritten", static_cast<int32_t>(recent.total));
    auto lines = reply.array("log");
    for (const auto& line : recent.lines) lines.append(line);
  }
};

}  // namespace

std::unique_ptr<Command> make_get_log_command() {
  return std::make_unique<GetLog>();
}

}  // namespace server
