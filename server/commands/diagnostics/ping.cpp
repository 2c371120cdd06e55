// ping answers nothing but ok, so that a client sees that the server is there.
#include "server/core/command.h"

namespace server {
namespace {

class Ping : public Command {
 public:
  std::string_view name() const override { return "ping"; }
  std::string_view help() const override {
    return "a way to check that the server is alive. responds immediately even if server is in a db lock.";
  }
  bool stable_api() const override { return true; }
  bool before_auth() const override { return true; }
  void run(OperationContext&, const Request&, bson::Builder&) override {}
};

}  // namespace

std::unique_ptr<Command> make_ping_command() {
  return std::make_unique<Ping>();
}

}  // namespace server
