// _initialSyncEnd returns a lent backup.
#include "server/commands/replication/initial_sync_source.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"

namespace server {
namespace {

class InitialSyncEnd : public InitialSyncSource {
 public:
  std::string_view name() const override { return "_initialSyncEnd"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"backupId"};
    return names;
  }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    host_of(op).end(Arguments(request).required_integer("backupId"));
  }
};

}  // namespace

std::unique_ptr<Command> make_initial_sync_end_command() {
  return std::make_unique<InitialSyncEnd>();
}

}  // namespace server
