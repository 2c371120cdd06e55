// squash makes one commit of a branch's last ones.
#include "base/error.h"
#include "server/commands/shared/branches.h"
#include "server/commands/versions/merge_request.h"
#include "server/commands/versions/rewrite.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/write/batch.h"
#include "server/write/commit_check.h"

namespace server {
namespace {

using versions::BranchedDatabase;

class Squash : public Command {
 public:
  std::string_view name() const override { return "squash"; }
  std::string_view help() const override {
    return "make one commit of all that the branch has committed since another of its commits\n"
           "{ squash: <branch, tag or commit that the branch comes from>, message: <string>, author: <string> }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"message", "author", "bypassDocumentValidation"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const std::string since(arguments.required_string("squash"));
    const auto database = branched(op, request);
    const auto& graph = database->branches().graph();
    const versions::Ref ref = ref_of(request);
    std::string name, head, written;
    BranchedDatabase::MergeRequest how{.kind = versions::Branches::MergeKind::squash, .resolve = versions::resolver({})};
    how.interrupted = op.interrupted();
    how.hold = hold_in(op);
    const versions::CommitInfo info = commit_info(op, arguments, "squash of what came after " + since);
    const bool changed = [&] {
      const auto indexes = database->keep_indexes(op.interrupted());
      return write::in_transaction(op, [&](storage::Transaction& transaction) {
        const versions::Branch branch = database->branch(transaction, ref);
        const versions::CommitNumber start = database->place(transaction, ref_of(since)).commit;
        how.from = branch.head;
        name = branch.name, head = hex(graph.commit(transaction, branch.head)->id);
        if (graph.common_ancestor(transaction, start, branch.head) != start)
          throw base::OperationError(base::ErrorCode::illegal_operation,
                                     "branch '" + name + "' doesn't come from '" + since + "', so nothing came after it");
        if (start == branch.head) return false;
        written = begin_rewriting(transaction, *database, branch, ref_of(hex(graph.commit(transaction, start)->id)));
        return true;
      });
    }();
    if (changed) {
      try {
        while (!merge(op, *database, written, how, info)) op.check_interrupt();
        head = take_over(op, *database, name, head, written);
      } catch (...) {
        drop_rewriting(op, *database, written);
        throw;
      }
    }
    reply.append("branch", name).append("commit", head).append("changed", changed);
  }

 private:
  // False: a part of a tree was made, and it is to be called again. The branch begins at an ancestor of what is merged, so there
  // are no conflicts.
  static bool merge(OperationContext& op, BranchedDatabase& database, const std::string& written,
                    const BranchedDatabase::MergeRequest& how, const versions::CommitInfo& info) {
    const auto indexes = database.keep_indexes(op.interrupted());
    return write::in_transaction(op, [&](storage::Transaction& transaction) {
      if (database.prepare_merge(transaction, {.name = written}, how)) return false;
      const versions::CommitNumber before = database.branch(transaction, {.name = written}).head;
      const BranchedDatabase::Merge merge = database.merge(transaction, written, how, info);
      if (!merge.conflicts.empty()) fail_with_conflicts("the squash", merge.conflicts);
      if (merge.commit) write::check_commit(op, transaction, database, before, merge.commit->number);
      return true;
    });
  }
};

}  // namespace

std::unique_ptr<Command> make_squash_command() {
  return std::make_unique<Squash>();
}

}  // namespace server
