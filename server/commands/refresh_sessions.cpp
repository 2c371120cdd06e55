// refreshSessions: clients say that these sessions are still in use. Nothing is
// kept that could grow old, so that the names are well formed is all there is to check.
#include "server/commands/sessions.h"

namespace server {
namespace {

class RefreshSessions : public Command {
 public:
  std::string_view name() const override { return "refreshSessions"; }
  std::string_view help() const override { return "renew a set of logical sessions"; }
  bool may_block() const override { return false; }
  bool stable_api() const override { return true; }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  void run(OperationContext&, const Request& request, bson::Builder&) override { session_ids(request); }
};

}  // namespace

std::unique_ptr<Command> make_refresh_sessions_command() { return std::make_unique<RefreshSessions>(); }

}  // namespace server
