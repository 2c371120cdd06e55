// getDefaultRWConcern returns the concerns of commands that name none of their
// own.
#include "server/commands/replication/default_rw_concern.h"
#include "server/core/operation.h"
#include "server/core/services.h"

namespace server {

DefaultConcerns& default_concerns_of(OperationContext& op, std::string_view command) {
  DefaultConcerns* defaults = op.services().default_concerns;
  if (!defaults) throw base::OperationError(51300, "'" + std::string(command) + "' is not supported on standalone nodes.");
  return *defaults;
}

void append_defaults(const ConcernDefaults& defaults, bson::Builder& reply) {
  if (defaults.read_level.empty()) {
    auto concern = reply.object("defaultReadConcern");
    concern.append("level", "local");
  }
  if (!defaults.write) {
    auto concern = reply.object("defaultWriteConcern");
    concern.append("w", "majority").append("wtimeout", 0);
  }
  for (const auto& field : defaults.stored) reply.append_element(field);
  reply.append("defaultWriteConcernSource", defaults.write ? "global" : "implicit");
  reply.append("defaultReadConcernSource", defaults.read_level.empty() ? "implicit" : "global");
  reply.append("localUpdateWallClockTime", bson::Date{defaults.read_ms});
}

namespace {

class GetDefaultRWConcern : public Command {
 public:
  std::string_view name() const override { return "getDefaultRWConcern"; }
  std::string_view help() const override { return "get the current read/write concern defaults (cluster-wide)"; }
  bool admin_only() const override { return true; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view known[] = {"inMemory"};
    return known;
  }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    DefaultConcerns& defaults = default_concerns_of(op, name());
    const auto in_memory = request.body.find("inMemory");
    const bool as_known = in_memory.exists() && in_memory.truthy();
    if (!as_known) defaults.refresh();
    append_defaults(*defaults.current(), reply);
    if (as_known) reply.append("inMemory", true);
  }
};

}  // namespace

std::unique_ptr<Command> make_get_default_rw_concern_command() {
  return std::make_unique<GetDefaultRWConcern>();
}

}  // namespace server
