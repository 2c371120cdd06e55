// logout ends a connection's authentication. No connection has one, so it does nothing.
#include <atomic>

#include "base/log.h"
#include "server/core/command.h"

namespace server {
namespace {

class Logout : public Command {
 public:
  std::string_view name() const override { return "logout"; }
  std::string_view help() const override { return "de-authenticate"; }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  bool before_auth() const override { return true; }

  void run(OperationContext&, const Request&, bson::Builder&) override {
    if (warned_.exchange(true)) return;
    base::log(base::Severity::warning, base::LogComponent::command, 5626600,
              "The logout command has been deprecated, clients should end their session instead");
  }

 private:
  std::atomic<bool> warned_{false};  // it logs one warning
};

}  // namespace

std::unique_ptr<Command> make_logout_command() {
  return std::make_unique<Logout>();
}

}  // namespace server
