// logout ends a connection's authentication.
#include <atomic>

#include "base/log.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/users/login.h"

namespace server {
namespace {

class Logout : public Command {
 public:
  std::string_view name() const override { return "logout"; }
  std::string_view help() const override { return "de-authenticate"; }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  bool before_auth() const override { return true; }

  void run(OperationContext& op, const Request&, bson::Builder&) override {
    if (op.services().logins) op.services().logins->log_out(op.client());
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
