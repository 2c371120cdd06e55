// listConflicts returns what is to be decided in the merge that is under way on a branch, and what has been.
#include "server/commands/shared/branches.h"
#include "server/commands/shared/list_cursor.h"
#include "server/commands/versions/open_merge.h"
#include "server/core/operation.h"
#include "server/write/batch.h"

namespace server {
namespace {

using versions::BranchedDatabase;
using versions::Decision;

constexpr size_t shown_bytes = 12 << 20;  // of a document's sides in one conflict: a reply holds 16 MB

bson::Document id_of(const BranchedDatabase::MergeSides& sides) {
  const auto& any = sides.ours ? sides.ours : sides.theirs ? sides.theirs : sides.base;
  bson::Builder id;
  if (any) id.append("_id", static_cast<bson::ValueView>(bson::DocumentView(*any).find("_id")));
  return id.done();
}

void append_sides(const BranchedDatabase::MergeSides& sides, bson::Builder& out) {
  size_t bytes = 0;
  const std::pair<std::string_view, const std::optional<base::Bytes>&> all[] = {
      {"base", sides.base}, {"ours", sides.ours}, {"theirs", sides.theirs}};
  for (const auto& [name, side] : all) bytes += side ? side->size() : 0;
  if (bytes > shown_bytes) {
    out.append("tooLarge", true);
    return;
  }
  for (const auto& [name, side] : all) {
    if (side) out.append(name, bson::DocumentView(*side));
  }
}

class ListConflicts : public Command {
 public:
  std::string_view name() const override { return "listConflicts"; }
  std::string_view help() const override {
    return "what is to be decided in the merge that is under way on the branch, and what has been: {collection, _id, paths, "
           "base, ours, theirs, resolved}\n"
           "{ listConflicts: 1, cursor: { batchSize: <int> } }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"cursor"};
    return names;
  }
  OnSecondary on_secondary() const override { return OnSecondary::never; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const auto database = branched(op, request);
    const versions::Ref ref = ref_of(request);
    std::vector<bson::Document> documents;
    const auto indexes = database->keep_indexes(op.interrupted());
    try {
      write::in_transaction(op, [&](storage::Transaction& transaction) {
        documents.clear();
        const versions::Branch branch = database->branch(transaction, ref);
        const MergeRequest how = open_merge(op, transaction, *database, branch);
        const std::vector<bson::Document> decided = decided_documents(op, transaction, *database, branch, how);
        // The transaction is aborted: it merges only to find the conflicts.
        const BranchedDatabase::Merge merge = database->merge(transaction, branch.name, how.request(), {});
        for (const auto& conflict : merge.conflicts) {
          op.check_interrupt();
          bson::Builder out;
          append_conflict(conflict, out);
          const auto sides = database->merge_sides(transaction, branch, how.kind(), how.commit(), conflict.collection,
                                                   versions::key_of(conflict.id.bytes()));
          if (sides) append_sides(*sides, out);
          documents.push_back(out.done());
        }
        documents.insert(documents.end(), decided.begin(), decided.end());
        throw NotKept();
      });
    } catch (const NotKept&) {
    }
    reply_list(op, request, request.db + ".$cmd.listConflicts", std::move(documents), reply);
  }

 private:
  // Decisions whose documents have changed since are left out: they are among the conflicts again.
  static std::vector<bson::Document> decided_documents(OperationContext& op, storage::Transaction& transaction,
                                                       BranchedDatabase& database, const versions::Branch& branch,
                                                       const MergeRequest& how) {
    std::vector<bson::Document> documents;
    for (const auto& [collection, decisions] : database.decisions(transaction, branch)) {
      for (const auto& [key, decision] : decisions) {
        op.check_interrupt();
        const auto sides = database.merge_sides(transaction, branch, how.kind(), how.commit(), collection, key);
        if (!sides || versions::hash_of(sides->view()) != decision.sides) continue;
        bson::Builder out;
        out.append("collection", collection).append_all(id_of(*sides)).append("resolved", name_of(decision.take));
        append_sides(*sides, out);
        if (decision.take == Decision::Take::document) out.append("document", bson::DocumentView(decision.document));
        documents.push_back(out.done());
      }
    }
    return documents;
  }
};

}  // namespace

std::unique_ptr<Command> make_list_conflicts_command() {
  return std::make_unique<ListConflicts>();
}

}  // namespace server
