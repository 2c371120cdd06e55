// listCommands returns the server's commands.
#include "server/core/command_registry.h"
#include "server/core/operation.h"
#include "server/core/services.h"

namespace server {
namespace {

class ListCommands : public Command {
 public:
  std::string_view name() const override { return "listCommands"; }
  std::string_view help() const override { return "get a list of all db commands"; }
  bool before_auth() const override { return true; }

  void run(OperationContext& op, const Request&, bson::Builder& reply) override {
    auto commands = reply.object("commands");
    for (const Command* command : op.services().commands.all()) {
      auto shown = commands.object(command->name());
      shown.append("help", command->help()).append("requiresAuth", !command->before_auth());
      shown.append("secondaryOk", !command->writes()).append("adminOnly", command->admin_only());
      {
        auto versions = shown.array("apiVersions");
        if (command->stable_api()) versions.append("1");
      }
      { shown.array("deprecatedApiVersions"); }
      if (const auto aliases = command->aliases(); !aliases.empty()) {
        auto names = shown.array("aliases");
        for (std::string_view alias : aliases) names.append(alias);
      }
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_list_commands_command() {
  return std::make_unique<ListCommands>();
}

}  // namespace server
