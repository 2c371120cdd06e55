// configureFailPoint sets faults for tests of drivers (fail_points.h).
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/fail_points.h"
#include "server/core/operation.h"
#include "server/core/services.h"

namespace server {
namespace {

class ConfigureFailPoint : public Command {
 public:
  std::string_view name() const override { return "configureFailPoint"; }
  std::string_view help() const override { return "modifies the settings of a fail point"; }
  bool admin_only() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    FailPoints& points = op.services().fail_points;
    // Without enableTestCommands there is no such command, as with mongod.
    if (!points.enabled) throw base::OperationError(base::ErrorCode::command_not_found, "no such command: 'configureFailPoint'");
    const Arguments arguments(request);
    const std::string point(arguments.required_string("configureFailPoint"));
    const auto data = arguments.object("data").value_or(bson::DocumentView());
    reply.append("count", points.configure(point, arguments.any("mode"), data));
  }
};

}  // namespace

std::unique_ptr<Command> make_configure_fail_point_command() {
  return std::make_unique<ConfigureFailPoint>();
}

}  // namespace server
