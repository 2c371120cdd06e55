// killSessions interrupts the operations of these sessions and closes the cursors
// that were opened under them.
#include "server/commands/sessions/sessions.h"
#include "server/core/operation.h"
#include "server/core/session_registry.h"

namespace server {
namespace {

class KillSessions : public Command {
 public:
  std::string_view name() const override { return "killSessions"; }
  std::string_view help() const override { return "kill a logical session and its operations"; }
  bool stable_api() const override { return true; }
  std::optional<FieldNames> fields() const override { return FieldNames(); }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    for (const auto& lsid : session_ids(request)) kill_sessions(op, session_key(lsid.as_document(), op.client()));
  }
};

}  // namespace

std::unique_ptr<Command> make_kill_sessions_command() {
  return std::make_unique<KillSessions>();
}

}  // namespace server
