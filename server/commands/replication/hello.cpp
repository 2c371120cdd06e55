// hello is a driver's first command, and its monitors repeat it.
#include "server/commands/replication/handshake.h"

namespace server {
namespace {

class Hello : public Handshake {
 public:
  Hello() : Handshake("isWritablePrimary") {}
  std::string_view name() const override { return "hello"; }
  bool stable_api() const override { return true; }
};

}  // namespace

std::unique_ptr<Command> make_hello_command() {
  return std::make_unique<Hello>();
}

}  // namespace server
