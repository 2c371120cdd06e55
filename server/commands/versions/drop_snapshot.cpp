// dropSnapshot forgets a snapshot.
#include "base/error.h"
#include "server/commands/versions/snapshots.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/services.h"
#include "versions/database/databases.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

class DropSnapshot : public Command {
 public:
  std::string_view name() const override { return "dropSnapshot"; }
  std::string_view help() const override {
    return "forget a snapshot\n{ dropSnapshot: <name or s<number>> }\nWhat no other one shows is freed in the background.";
  }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const std::string ref(Arguments(request).required_string("dropSnapshot"));
    versions::past::Past& past = past_of(op);
    const auto named = past.snapshots().find(ref);
    // A time names whichever snapshot is the newest then, so it can't name one to drop.
    const bool meant = named && (named->name == ref || "s" + std::to_string(named->number) == ref);
    if (!meant || !op.services().databases->drop_snapshot(named->number))
      throw OperationError(ErrorCode::namespace_not_found, "there is no snapshot '" + ref + "'");
    append_snapshot(*named, reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_drop_snapshot_command() {
  return std::make_unique<DropSnapshot>();
}

}  // namespace server
