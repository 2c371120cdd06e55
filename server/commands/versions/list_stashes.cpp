// listStashes returns the stashes of a database, the newest first.
#include "server/commands/shared/branches.h"
#include "server/commands/shared/list_cursor.h"
#include "server/commands/versions/list_command.h"
#include "server/commands/versions/popped_stashes.h"
#include "server/commands/versions/stashes.h"
#include "server/core/operation.h"
#include "server/core/scale.h"

namespace server {
namespace {

class ListStashes : public ListCommand {
 public:
  std::string_view name() const override { return "listStashes"; }
  std::string_view help() const override {
    return "the stashes of the database, the newest first\n{ listStashes: 1, cursor: { batchSize: <int> } }";
  }

 private:
  void list(OperationContext& op, storage::Transaction& transaction, versions::BranchedDatabase& database,
            ListSource& documents) const override {
    const auto& graph = database.branches().graph();
    for (const Stash& one : stashes_of(op, transaction, database)) {
      op.check_interrupt();
      bson::Builder out;
      append_count(out, "stash", static_cast<int64_t>(one.number));
      out.append("branch", one.branch);
      // A user who may not read the branch sees that the stash exists, and not its commit.
      if (may_at_stash(op, database, one, access::Action::find))
        out.append_all(describe(transaction, graph, *graph.commit(transaction, one.commit)));
      documents.add(out.done());
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_list_stashes_command() {
  return std::make_unique<ListStashes>();
}

}  // namespace server
