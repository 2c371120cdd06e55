// dropBranch removes a branch's name, and its writes since its last commit. Its commits stay.
#include "server/commands/shared/branches.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/write/batch.h"
#include "server/write/keep_for_log.h"
#include "server/write/target.h"
#include "storage/store.h"

namespace server {
namespace {

class DropBranch : public Command {
 public:
  std::string_view name() const override { return "dropBranch"; }
  std::string_view help() const override {
    return "take a branch away; its commits stay\n{ dropBranch: <name>, force: <bool: also where changes on it are not "
           "committed> }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"force"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const std::string name(arguments.required_string("dropBranch"));
    const bool force = arguments.loose_boolean("force").value_or(false);
    const auto database = branched(op, request);
    storage::Store& store = write::store_of(op);
    // It waits for those who write to the branch.
    store.catalog().alone(database->name(), op.interrupted(), [&](const auto&) {
      write::in_transaction(op, [&](storage::Transaction& transaction) {
        check_nothing_lost(transaction, *database, name, force);
        database->drop(transaction, name, write::keep_for_log(op));
      });
      database->forget_views(name);
    });
    reply.append("dropped", name);
  }
};

}  // namespace

std::unique_ptr<Command> make_drop_branch_command() {
  return std::make_unique<DropBranch>();
}

}  // namespace server
