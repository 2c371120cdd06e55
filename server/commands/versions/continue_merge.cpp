// continueMerge ends the merge that is under way on a branch with a commit.
#include "base/error.h"
#include "server/commands/shared/branches.h"
#include "server/commands/versions/open_merge.h"
#include "server/commands/versions/rewrite.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/permission.h"
#include "server/core/scale.h"
#include "server/write/batch.h"
#include "server/write/commit_check.h"

namespace server {
namespace {

using versions::BranchedDatabase;

class ContinueMerge : public Command {
 public:
  std::string_view name() const override { return "continueMerge"; }
  std::string_view help() const override {
    return "merge what is under way on the branch, now that its conflicts are decided\n{ continueMerge: 1, message: <string>, "
           "author: <string> }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"message", "author", "bypassDocumentValidation"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const auto database = branched(op, request);
    const versions::Ref ref = ref_of(request);
    if (const auto rebase = rebase_on(op, *database, ref)) {
      check_may_move(op, *database, rebase->branch);
      return run_picks(op, *database, ref.name, arguments, true, reply);
    }
    BranchedDatabase::Merge merge;
    std::string what;
    bson::Document shown;
    const auto indexes = database->keep_indexes(op.interrupted());
    const auto prepare_or_merge = [&] {
      return write::in_transaction(op, [&](storage::Transaction& transaction) {
        const versions::Branch branch = database->branch(transaction, ref);
        MergeRequest how = open_merge(op, transaction, *database, branch);
        if (database->prepare_merge(transaction, ref, how.request())) return false;
        what = how.description();
        how.show_progress(op, transaction, *database, branch.head);
        merge = database->merge(transaction, branch.name, how.request(), how.info(op, transaction, *database, arguments));
        if (!merge.conflicts.empty()) throw NotKept();
        if (merge.commit) write::check_commit(op, transaction, *database, branch.head, merge.commit->number);
        const auto head = merge.commit ? merge.commit : database->branches().graph().commit(transaction, branch.head);
        bson::Builder out;
        out.append("branch", branch.name).append("commit", hex(head->id)).append("changed", merge.commit || merge.advanced);
        shown = out.done();
        return true;
      });
    };
    try {
      while (!prepare_or_merge()) op.check_interrupt();
    } catch (const NotKept&) {
      fail_with_conflicts("the " + what, merge.conflicts);
    }
    reply.append_all(shown);
    append_count(reply, "touchedByBoth", static_cast<int64_t>(merge.touched_by_both));
  }

 private:
  // The rebase's last pick moves a branch that isn't the request's.
  static void check_may_move(OperationContext& op, const BranchedDatabase& database, const std::string& branch) {
    const std::string state = database.name() + "@" + versions::escaped(branch);
    const std::string& resource = branch == BranchedDatabase::main ? database.name() : state;
    if (may(op, {access::Action::resetBranch}, access::Resource::of_database(database.name())) ||
        may(op, {access::Action::resetBranch}, access::Resource::of_database(resource)))
      return;
    throw base::OperationError(base::ErrorCode::unauthorized, "not authorized to move branch '" + branch + "', which is rebased");
  }
};

}  // namespace

std::unique_ptr<Command> make_continue_merge_command() {
  return std::make_unique<ContinueMerge>();
}

}  // namespace server
