// abortMerge forgets the merge that is under way on a branch.
#include "server/commands/shared/branches.h"
#include "server/commands/versions/open_merge.h"
#include "server/commands/versions/rewrite.h"
#include "server/core/operation.h"
#include "server/write/batch.h"

namespace server {
namespace {

class AbortMerge : public Command {
 public:
  std::string_view name() const override { return "abortMerge"; }
  std::string_view help() const override {
    return "forget the merge that is under way on the branch, which is as it was\n{ abortMerge: 1 }\nWhere a rebase waits, the "
           "branch it is written on goes.";
  }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const auto database = branched(op, request);
    const versions::Ref ref = ref_of(request);
    if (rebase_on(op, *database, ref)) {
      drop_rewriting(op, *database, ref.name);
      reply.append("aborted", true);
      return;
    }
    write::in_transaction(
        op, [&](storage::Transaction& transaction) { database->abort_merge(transaction, database->branch(transaction, ref)); });
    reply.append("aborted", true);
  }
};

}  // namespace

std::unique_ptr<Command> make_abort_merge_command() {
  return std::make_unique<AbortMerge>();
}

}  // namespace server
