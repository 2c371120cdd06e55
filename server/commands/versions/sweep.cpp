// sweep drops the commits that need not stay, now instead of in the background.
#include "server/commands/shared/branches.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/write/branch_sweeper.h"

namespace server {
namespace {

class Sweep : public Command {
 public:
  std::string_view name() const override { return "sweep"; }
  std::string_view help() const override {
    return "drop the commits that need not stay, now; what they alone show is freed\n{ sweep: 1 }\nWithout it that happens in "
           "the background.";
  }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const auto database = branched(op, request);
    const versions::Branches::Swept swept = write::sweep(op, *database);
    write::free_nodes(op, *database);
    append_count(reply, "commits", static_cast<int64_t>(swept.commits));
    append_count(reply, "versions", static_cast<int64_t>(swept.records));
  }
};

}  // namespace

std::unique_ptr<Command> make_sweep_command() {
  return std::make_unique<Sweep>();
}

}  // namespace server
