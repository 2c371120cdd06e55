// endSessions ends sessions that a client no longer uses, and closes the cursors
// that were opened under them.
#include "server/commands/sessions/sessions.h"
#include "server/core/client.h"
#include "server/core/operation.h"
#include "server/core/options.h"
#include "server/core/services.h"
#include "server/core/session_registry.h"

namespace server {
namespace {

constexpr size_t sessions_max = 10'000;  // drivers send no more in a command

class EndSessions : public Command {
 public:
  std::string_view name() const override { return "endSessions"; }
  std::string_view help() const override { return "end a set of logical sessions"; }
  bool stable_api() const override { return true; }
  bool before_auth() const override { return true; }
  std::optional<FieldNames> fields() const override { return FieldNames(); }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    // With access control, who isn't logged in has no sessions.
    if (op.services().options.authorization && !op.client().authority()) return;
    const bson::DocumentView ids = session_ids(request);
    if (ids.count() > sessions_max) {
      throw base::OperationError(base::ErrorCode::bad_value, "endSessions ends at most " + std::to_string(sessions_max) +
                                                                 " sessions, not " + std::to_string(ids.count()));
    }
    SessionRegistry& sessions = op.services().sessions;
    for (const auto& lsid : ids) {
      op.check_interrupt();
      const bson::Bytes key = session_key(lsid.as_document(), op.client());
      // Whoever opens a cursor or a transaction in a session uses it here.
      const bool known = sessions.knows(key);
      sessions.end(key);
      if (known && op.services().sessions_ended) op.services().sessions_ended(key);
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_end_sessions_command() {
  return std::make_unique<EndSessions>();
}

}  // namespace server
