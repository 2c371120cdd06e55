// shutdown ends the process cleanly. The client may get a reply, or the connection
// just closes: drivers expect both.
#include "base/error.h"
#include "base/log.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"

namespace server {
namespace {

bool is_local(const Client& client) {
  return client.is_unix_socket() || client.remote().starts_with("127.") || client.remote().starts_with("[::1]");
}

class Shutdown : public Command {
 public:
  std::string_view name() const override { return "shutdown"; }
  std::string_view help() const override {
    return "shutdown the database.  must be ran against admin db and either (1) ran from localhost or (2) authenticated.";
  }
  bool admin_only() const override { return true; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view known[] = {"force", "timeoutSecs"};
    return known;
  }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const Arguments arguments(request);
    arguments.loose_boolean("force");
    arguments.unsigned_integer("timeoutSecs");
    if (!is_local(op.client())) {
      throw base::OperationError(base::ErrorCode::unauthorized, "shutdown must run from localhost when running db without auth");
    }
    base::log(base::Severity::info, base::LogComponent::command, 4695400, "Shutdown requested by a client",
              base::Attributes().add("remote", op.client().remote()));
    op.services().request_shutdown(0);
  }
};

}  // namespace

std::unique_ptr<Command> make_shutdown_command() {
  return std::make_unique<Shutdown>();
}

}  // namespace server
