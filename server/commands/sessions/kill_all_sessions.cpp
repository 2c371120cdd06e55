// killAllSessions kills every session of the given users; without access control
// everybody is the same user, so only the empty list has a meaning.
#include "base/error.h"
#include "server/commands/sessions/sessions.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/services.h"

namespace server {
namespace {

class KillAllSessions : public Command {
 public:
  std::string_view name() const override { return "killAllSessions"; }
  std::string_view help() const override { return "kill all logical sessions, for a user, and their operations"; }
  std::optional<FieldNames> fields() const override { return FieldNames(); }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    // Users that don't exist have no sessions, so naming some kills none.
    if (!Arguments(request).required_array("killAllSessions").empty()) return;
    kill_session(op, {});
  }
};

}  // namespace

std::unique_ptr<Command> make_kill_all_sessions_command() {
  return std::make_unique<KillAllSessions>();
}

}  // namespace server
