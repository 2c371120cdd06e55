// whatsmyuri returns the client's address as the server sees it.
#include "server/core/command.h"
#include "server/core/operation.h"

namespace server {
namespace {

class Whatsmyuri : public Command {
 public:
  std::string_view name() const override { return "whatsmyuri"; }
  std::string_view help() const override { return "{whatsmyuri:1}"; }
  bool before_auth() const override { return true; }
  void run(OperationContext& op, const Request&, bson::Builder& reply) override { reply.append("you", op.client().remote()); }
};

}  // namespace

std::unique_ptr<Command> make_whatsmyuri_command() {
  return std::make_unique<Whatsmyuri>();
}

}  // namespace server
