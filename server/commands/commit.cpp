// commit: what was written on a branch since its last commit becomes a state that stays.
#include "server/arguments.h"
#include "server/commands/branches.h"
#include "server/operation.h"
#include "server/services.h"
#include "server/write/batch.h"
#include "server/write/target.h"
#include "storage/engine.h"

namespace server {
namespace {

class Commit : public Command {
 public:
  std::string_view name() const override { return "commit"; }
  std::string_view help() const override {
    return "keep the state of the branch\n{ commit: 1, message: <string>, author: <string> }\n"
           "Writers go on meanwhile: what they commit to later is in the next one.";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"message", "author"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    check_branches_supported(op);
    const Arguments arguments(request);
    const versions::CommitInfo info = commit_info(op, arguments, "");
    const bool first = !op.services().databases->find(database_of(request));
    const versions::Ref ref = ref_of(request);
    const auto database = branched_from(op, request, ref, info);
    const bson::Document said = storage::in_transaction(
        write::engine_of(op),
        [&](storage::Transaction& transaction) {
          const versions::Branch branch = database->branch(transaction, ref);
          const auto made = database->commit(transaction, branch.name, info);
          const auto head = made ? made : database->branches().graph().commit(transaction, branch.head);
          bson::Builder out;
          out.append("branch", branch.name).append("commit", hex(head->id)).append("changed", first || made != nullptr);
          return out.done();
        },
        write::on_conflict(op));
    reply.append_all(said);
  }
};

}  // namespace

std::unique_ptr<Command> make_commit_command() { return std::make_unique<Commit>(); }

}  // namespace server
