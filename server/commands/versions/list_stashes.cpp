// listStashes returns the stashes of a database, the newest first.
#include "server/commands/shared/branches.h"
#include "server/commands/shared/list_cursor.h"
#include "server/commands/versions/popped_stashes.h"
#include "server/commands/versions/stashes.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/write/target.h"
#include "storage/store.h"

namespace server {
namespace {

class ListStashes : public Command {
 public:
  std::string_view name() const override { return "listStashes"; }
  std::string_view help() const override {
    return "the stashes of the database, the newest first\n{ listStashes: 1, cursor: { batchSize: <int> } }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"cursor"};
    return names;
  }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const auto database = branched(op, request);
    std::vector<bson::Document> documents;
    {
      storage::Transaction transaction(write::store_of(op), storage::Transaction::Mode::read);
      const auto& graph = database->branches().graph();
      for (const Stash& one : stashes_of(op, transaction, *database)) {
        op.check_interrupt();
        bson::Builder out;
        append_count(out, "stash", static_cast<int64_t>(one.number));
        out.append("branch", one.branch);
        // What a stash has isn't for those who may not read the branch.
        if (may_at_stash(op, *database, one, access::Action::find))
          out.append_all(describe(transaction, graph, *graph.commit(transaction, one.commit)));
        documents.push_back(out.done());
      }
    }
    reply_list(op, request, request.db + ".$cmd.listStashes", std::move(documents), reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_list_stashes_command() {
  return std::make_unique<ListStashes>();
}

}  // namespace server
