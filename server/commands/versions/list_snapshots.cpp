// listSnapshots returns the declared snapshots, oldest first.
#include "server/commands/shared/list_cursor.h"
#include "server/commands/versions/snapshots.h"
#include "server/core/command.h"
#include "server/core/operation.h"

namespace server {
namespace {

using versions::past::DeclaredSnapshot;

class ListSnapshots : public Command {
 public:
  std::string_view name() const override { return "listSnapshots"; }
  std::string_view help() const override {
    return "the declared snapshots, oldest first\n{ listSnapshots: 1, cursor: { batchSize: <int> } }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"cursor"};
    return names;
  }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    auto documents = std::make_unique<ListSource>(op);
    for (const DeclaredSnapshot& snapshot : past_of(op).snapshots().all()) {
      op.check_interrupt();
      bson::Builder out;
      append_snapshot(snapshot, out);
      documents->add(out.done());
    }
    reply_source(op, request, request.db + ".$cmd.listSnapshots", std::move(documents), reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_list_snapshots_command() {
  return std::make_unique<ListSnapshots>();
}

}  // namespace server
