// resetBranch lets a branch continue from another commit.
#include "server/commands/shared/branches.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/write/batch.h"
#include "server/write/keep_for_log.h"
#include "server/write/target.h"
#include "storage/store.h"

namespace server {
namespace {

class ResetBranch : public Command {
 public:
  std::string_view name() const override { return "resetBranch"; }
  std::string_view help() const override {
    return "let a branch go on from another commit\n"
           "{ resetBranch: <name>, to: <branch, tag or commit>, force: <bool: also where changes on it are not committed> }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"to", "force"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const std::string name(arguments.required_string("resetBranch"));
    const versions::Ref to = ref_of(arguments.required_string("to"));
    const bool force = arguments.loose_boolean("force").value_or(false);
    const auto database = branched(op, request);
    storage::Store& store = write::store_of(op);
    bson::Document shown;
    store.catalog().alone(database->name(), op.interrupted(), [&](const auto&) {
      shown = write::in_transaction(op, [&](storage::Transaction& transaction) {
        check_nothing_lost(transaction, *database, name, force);
        const auto commit = database->reset(transaction, name, to, write::keep_for_log(op));
        bson::Builder out;
        out.append("branch", name).append("commit", hex(commit->id));
        return out.done();
      });
    });
    reply.append_all(shown);
  }
};

}  // namespace

std::unique_ptr<Command> make_reset_branch_command() {
  return std::make_unique<ResetBranch>();
}

}  // namespace server
