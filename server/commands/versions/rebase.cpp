// rebase writes a branch's commits anew, on top of another state.
#include "base/error.h"
#include "server/commands/shared/branches.h"
#include "server/commands/versions/picks.h"
#include "server/commands/versions/rewrite.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/write/batch.h"

namespace server {
namespace {

class Rebase : public Command {
 public:
  std::string_view name() const override { return "rebase"; }
  std::string_view help() const override {
    return "pick the commits of the branch one by one onto another state, and let the branch go on from there\n"
           "{ rebase: <branch, tag or commit>, mode, resolve, paths, collections: as of merge }\n"
           "With resolve: manual a pick that meets conflicts waits on the branch rebase/<name> (listConflicts, resolveConflict, "
           "continueMerge, abortMerge).";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"mode", "resolve", "paths", "collections", "bypassDocumentValidation"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const std::string onto_name(arguments.required_string("rebase"));
    const versions::Ref onto = ref_of(onto_name), ref = ref_of(request);
    MergeRequest how(op, versions::Branches::MergeKind::cherry_pick, onto_name, arguments);
    const auto database = branched(op, request);
    const auto& graph = database->branches().graph();
    std::string written;
    MergeRequest::Rebase rebase;
    enum class Begun { unchanged, follows, picks };
    const Begun begun = [&] {
      const auto indexes = database->keep_indexes(op.interrupted());
      return write::in_transaction(op, [&](storage::Transaction& transaction) {
        const versions::Branch branch = database->branch(transaction, ref);
        const versions::CommitNumber start = database->place(transaction, onto).commit;
        rebase = {branch.name, hex(graph.commit(transaction, branch.head)->id), hex(graph.commit(transaction, start)->id)};
        if (is_line(transaction, *database, branch.head, start)) return Begun::unchanged;
        const std::string waits = waiting_rebase(branch.name);
        if (graph.branch(transaction, waits))
          throw base::OperationError(base::ErrorCode::namespace_exists,
                                     "there is a branch '" + waits + "', on which a rebase of '" + branch.name + "' would wait");
        written = begin_rewriting(transaction, *database, branch, ref_of(rebase.onto));
        const auto picks = commits_to_pick(transaction, *database, rebase);
        if (picks.empty()) return Begun::follows;
        how.pick_for(rebase, picks.front(), hex(graph.commit(transaction, picks.front())->id));
        database->begin_merge(transaction, database->branch(transaction, {.name = written}), {picks.front(), how.write()});
        return Begun::picks;
      });
    }();
    if (begun == Begun::unchanged) {
      reply.append("branch", rebase.branch).append("commit", rebase.head).append("changed", false);
      append_count(reply, "picked", 0);
      return;
    }
    try {
      if (begun == Begun::picks) return run_picks(op, *database, written, arguments, false, reply);
      const std::string id = take_over(op, *database, rebase.branch, rebase.head, written);
      reply.append("branch", rebase.branch).append("commit", id).append("changed", true);
      append_count(reply, "picked", 0);
    } catch (...) {
      drop_rewriting(op, *database, written);
      throw;
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_rebase_command() {
  return std::make_unique<Rebase>();
}

}  // namespace server
