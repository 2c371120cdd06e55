// getCmdLineOpts shows how the server was started.
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/options.h"
#include "server/core/services.h"

namespace server {
namespace {

class GetCmdLineOpts : public Command {
 public:
  std::string_view name() const override { return "getCmdLineOpts"; }
  std::string_view help() const override { return "get argv"; }
  bool admin_only() const override { return true; }

  void run(OperationContext& op, const Request&, bson::Builder& reply) override {
    const Options& options = op.services().options;
    {
      auto argv = reply.array("argv");
      for (const auto& word : options.argv) argv.append(word);
    }
    reply.append("parsed", options.parsed);
  }
};

}  // namespace

std::unique_ptr<Command> make_get_cmd_line_opts_command() {
  return std::make_unique<GetCmdLineOpts>();
}

}  // namespace server
