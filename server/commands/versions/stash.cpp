// stash puts a branch's uncommitted changes aside.
#include "server/commands/shared/branches.h"
#include "server/commands/versions/popped_stashes.h"
#include "server/commands/versions/stashes.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/write/batch.h"
#include "server/write/keep_for_log.h"
#include "storage/store.h"

namespace server {
namespace {

using versions::BranchedDatabase;

class StashChanges : public Command {
 public:
  std::string_view name() const override { return "stash"; }
  std::string_view help() const override {
    return "put aside what is not committed on the branch, which then shows its last commit\n"
           "{ stash: 1, message: <string>, author: <string> }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"message", "author"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const auto database = branched(op, request);
    std::optional<bson::Document> shown;
    for (;;) {
      prepare(op, *database, ref_of(request));
      write::store_of(op).catalog().alone(database->name(), op.interrupted(), [&](const auto&) {
        end_pops(op, *database);
        shown = stash(op, *database, ref_of(request), arguments);
      });
      if (shown) break;
      op.check_interrupt();
    }
    reply.append_all(*shown);
  }

 private:
  // Makes parts of trees while others read and write.
  static void prepare(OperationContext& op, BranchedDatabase& database, const versions::Ref& ref) {
    const auto part = [&] {
      const auto indexes = database.keep_indexes(op.interrupted());
      return write::in_transaction(op, [&](storage::Transaction& transaction) {
        const versions::Branch branch = database.branch(transaction, ref);
        return database.has_pending(transaction, branch.id) && database.prepare_commit(transaction, branch.name);
      });
    };
    while (part()) op.check_interrupt();
  }

  // nullopt: another part of a tree must be made.
  static std::optional<bson::Document> stash(OperationContext& op, BranchedDatabase& database, const versions::Ref& ref,
                                             const Arguments& arguments) {
    const auto indexes = database.keep_indexes(op.interrupted());
    return write::in_transaction(op, [&](storage::Transaction& transaction) -> std::optional<bson::Document> {
      const versions::Branch branch = database.branch(transaction, ref);
      const bool pending = database.has_pending(transaction, branch.id);
      if (pending && database.prepare_commit(transaction, branch.name)) return std::nullopt;
      const auto head = database.branches().graph().commit(transaction, branch.head);
      const auto info = commit_info(op, arguments, "changes on " + branch.name + " at " + hex(head->id).substr(0, 16));
      const auto made = database.stash(transaction, branch.name, info, write::keep_for_log(op));
      bson::Builder out;
      out.append("branch", branch.name);
      if (made) {
        append_count(out, "stash", static_cast<int64_t>(made->number));
        out.append("commit", hex(database.branches().graph().commit(transaction, made->commit)->id));
      }
      out.append("changed", made.has_value());
      return out.done();
    });
  }
};

}  // namespace

std::unique_ptr<Command> make_stash_command() {
  return std::make_unique<StashChanges>();
}

}  // namespace server
