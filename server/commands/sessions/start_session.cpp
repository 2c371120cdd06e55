// startSession returns the id of a new session, for clients that can't make one.
#include "base/clock.h"
#include "base/uuid.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/core/session_registry.h"

namespace server {
namespace {

class StartSession : public Command {
 public:
  std::string_view name() const override { return "startSession"; }
  std::string_view help() const override { return "start a logical session"; }
  bool stable_api() const override { return true; }
  std::optional<FieldNames> fields() const override { return FieldNames(); }

  void run(OperationContext& op, const Request&, bson::Builder& reply) override {
    const bson::Bytes uuid = base::random_uuid();
    bson::Builder id;
    id.append("id", bson::Binary{4, uuid});
    const bson::Document lsid = id.done();
    SessionRegistry& sessions = op.services().sessions;
    sessions.use(session_key(lsid, op.client()), op.services().clock.wall_ms());
    reply.append("id", lsid).append("timeoutMinutes", static_cast<int32_t>(sessions.timeout_minutes.load()));
  }
};

}  // namespace

std::unique_ptr<Command> make_start_session_command() {
  return std::make_unique<StartSession>();
}

}  // namespace server
