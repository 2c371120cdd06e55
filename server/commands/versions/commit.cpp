// commit turns the writes on a branch since its last commit into an immutable state.
#include "base/error.h"
#include "server/commands/shared/branches.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/write/batch.h"
#include "server/write/commit_check.h"
#include "versions/database/commit_attempts.h"

namespace server {
namespace {

class Commit : public Command {
 public:
  std::string_view name() const override { return "commit"; }
  std::string_view help() const override {
    return "keep the state of the branch\n{ commit: 1, message: <string>, author: <string>, collections: [ <name>, … ] }\n"
           "With collections what was written to others stays uncommitted.\n"
           "Writers go on meanwhile: what they commit to later is in the next one.\n"
           "A database's first one reads all that is in it, in many transactions, and proves it.";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"message", "author", "collections", "bypassDocumentValidation"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const versions::CommitInfo info = commit_info(op, arguments, "");
    const std::vector<std::string> collections = collections_of(arguments);
    const versions::Ref ref = ref_of(request);
    if (!collections.empty()) branched(op, request);  // a database's first commit has all its collections
    const auto begun = branched_from(op, request, ref, info);
    std::optional<bson::Document> shown;
    while (!(shown = commit(op, *begun.database, ref, info, collections, begun.is_new))) op.check_interrupt();
    reply.append_all(*shown);
  }

 private:
  // Returns nullopt if it is to be called again. A commit writes hash trees of what changed, and not of everything: before a
  // database's first commit with trees, these are made part by part, each in a transaction.
  static std::optional<bson::Document> commit(OperationContext& op, versions::BranchedDatabase& database,
                                              const versions::Ref& ref, const versions::CommitInfo& info,
                                              const std::vector<std::string>& collections, bool is_new) {
    const auto indexes = database.keep_indexes(op.interrupted());
    versions::CommitAttempts attempts(database);
    return write::in_transaction(op, [&](storage::Transaction& transaction) -> std::optional<bson::Document> {
      const versions::Branch branch = database.branch(transaction, ref);
      attempts.begin(transaction, branch);
      if (database.prepare_commit(transaction, branch.name)) return std::nullopt;
      const auto made = database.commit(transaction, branch.name, info, collections);
      if (made) write::check_commit(op, transaction, database, branch.head, made->number);
      const auto head = made ? made : database.branches().graph().commit(transaction, branch.head);
      bson::Builder out;
      out.append("branch", branch.name).append("commit", hex(head->id)).append("changed", is_new || made != nullptr);
      return out.done();
    });
  }

  static std::vector<std::string> collections_of(const Arguments& arguments) {
    std::vector<std::string> names;
    const auto given = arguments.array("collections");
    if (!given) return names;
    for (const auto& one : *given) {
      if (!one.is_string()) throw base::OperationError(base::ErrorCode::type_mismatch, "'collections' must be an array of names");
      names.emplace_back(one.as_string());
    }
    if (names.empty()) throw base::OperationError(base::ErrorCode::bad_value, "'collections' must not be empty");
    return names;
  }
};

}  // namespace

std::unique_ptr<Command> make_commit_command() {
  return std::make_unique<Commit>();
}

}  // namespace server
