// endSessions ends sessions that a client no longer uses, and closes the cursors
// that were opened under them.
#include "server/commands/sessions/sessions.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/core/session_registry.h"

namespace server {
namespace {

class EndSessions : public Command {
 public:
  std::string_view name() const override { return "endSessions"; }
  std::string_view help() const override { return "end a set of logical sessions"; }
  bool stable_api() const override { return true; }
  bool before_auth() const override { return true; }
  std::optional<FieldNames> fields() const override { return FieldNames(); }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    for (const auto& lsid : session_ids(request)) {
      const bson::Bytes key = session_key(lsid.as_document(), op.client());
      op.services().sessions.end(key);
      if (op.services().sessions_ended) op.services().sessions_ended(key);
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_end_sessions_command() {
  return std::make_unique<EndSessions>();
}

}  // namespace server
