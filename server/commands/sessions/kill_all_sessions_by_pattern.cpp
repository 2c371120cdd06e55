// killAllSessionsByPattern kills every session that one of the patterns fits:
// {lsid: {id, uid}}, {uid}, or {} for all.
#include "server/commands/sessions/sessions.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/core/session_registry.h"

namespace server {
namespace {

class KillAllSessionsByPattern : public Command {
 public:
  std::string_view name() const override { return "killAllSessionsByPattern"; }
  std::string_view help() const override { return "kill logical sessions by pattern"; }
  std::optional<FieldNames> fields() const override { return FieldNames(); }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const auto patterns = Arguments(request).required_array("killAllSessionsByPattern");
    if (patterns.empty()) return kill_session(op, {});
    for (const auto& pattern : patterns) {
      if (!pattern.is_object()) {
        throw base::OperationError(base::ErrorCode::type_mismatch,
                                   "BSON field 'killAllSessionsByPattern." + std::string(pattern.name) + "' is the wrong type '" +
                                       std::string(bson::type_name(pattern.type())) + "', expected type 'object'");
      }
      const Arguments fields("killAllSessionsByPattern", pattern.as_document());
      fields.only({"lsid", "uid", "users", "roles"});
      // Without access control all sessions belong to the same user.
      if (const auto users = fields.array("users"); users && !users->empty()) continue;
      if (const auto roles = fields.array("roles"); roles && !roles->empty()) continue;
      const auto lsid = fields.object("lsid");
      if (!lsid)
        kill_session(op, {});
      else
        kill_session(op, *lsid);
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_kill_all_sessions_by_pattern_command() {
  return std::make_unique<KillAllSessionsByPattern>();
}

}  // namespace server
