// renameBranch gives a branch another name.
#include "server/commands/shared/branches.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/write/batch.h"
#include "server/write/namespaces.h"
#include "server/write/target.h"
#include "storage/store.h"

namespace server {
namespace {

class RenameBranch : public Command {
 public:
  std::string_view name() const override { return "renameBranch"; }
  std::string_view help() const override { return "{ renameBranch: <name>, to: <new name> }"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"to"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const std::string name(arguments.required_string("renameBranch")), to(arguments.required_string("to"));
    versions::check_new_name(to);
    write::check_branch_creatable(to);
    const auto database = branched(op, request);
    storage::Store& store = write::store_of(op);
    store.catalog().alone(database->name(), op.interrupted(), [&](const auto&) {
      write::in_transaction(op, [&](storage::Transaction& transaction) { database->rename(transaction, name, to); });
      database->forget_views(name);
    });
    reply.append("branch", to);
  }
};

}  // namespace

std::unique_ptr<Command> make_rename_branch_command() {
  return std::make_unique<RenameBranch>();
}

}  // namespace server
