// listConflicts, resolveConflict, continueMerge, abortMerge: a merge that stopped at conflicts, and how it goes on.
#include <algorithm>

#include "base/error.h"
#include "server/commands/shared/branches.h"
#include "server/commands/shared/id_argument.h"
#include "server/commands/shared/list_cursor.h"
#include "server/commands/versions/merge_request.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/core/services.h"
#include "server/write/batch.h"
#include "server/write/storable.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;
using versions::BranchedDatabase;
using versions::Decision;

constexpr size_t shown_bytes = 12 << 20;  // of a document's sides in one conflict: a reply holds 16 MB

// The merge that is under way, as this transaction sees it.
MergeRequest open_merge(OperationContext& op, storage::Transaction& transaction, BranchedDatabase& database,
                        const versions::Branch& branch) {
  const auto open = database.open_merge(transaction, branch);
  if (!open) throw OperationError(ErrorCode::illegal_operation, "no merge is under way on branch '" + branch.name + "'");
  MergeRequest how = MergeRequest::read(op, open->request);
  how.go_on(open->from);
  return how;
}

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

constexpr std::pair<std::string_view, Decision::Take> takes[] = {{"ours", Decision::Take::ours},
                                                                 {"theirs", Decision::Take::theirs},
                                                                 {"base", Decision::Take::base},
                                                                 {"document", Decision::Take::document}};

std::string_view name_of(Decision::Take take) {
  for (const auto& [name, one] : takes) {
    if (one == take) return name;
  }
  return "";
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
    const auto indexes = database->keep_indexes();
    try {
      write::in_transaction(op, [&](storage::Transaction& transaction) {
        documents.clear();
        const versions::Branch branch = database->branch(transaction, ref);
        const MergeRequest how = open_merge(op, transaction, *database, branch);
        const std::vector<bson::Document> decided = decided_documents(op, transaction, *database, branch, how);
        // Its transaction is taken back: the merge is only made to see what it meets.
        const BranchedDatabase::Merge merge = database->merge(transaction, branch.name, how.request(), {});
        for (const auto& conflict : merge.conflicts) {
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
  // Those that hold still; others are among the conflicts again.
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

class ResolveConflict : public Command {
 public:
  std::string_view name() const override { return "resolveConflict"; }
  std::string_view help() const override {
    return "say what becomes of a document in the merge that is under way on the branch\n"
           "{ resolveConflict: 1, collection: <name>, _id: <value>, take: ours | theirs | base } or { …, document: <document> }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"collection", "_id", "id", "take", "document"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const std::string collection(arguments.required_string("collection"));
    bson::Builder id;
    id.append("_id", id_argument(arguments));
    const bson::Document id_document = id.done();
    Decision decision = what_is_decided(arguments, id_document);
    const auto database = branched(op, request);
    const versions::Ref ref = ref_of(request);
    write::in_transaction(op, [&](storage::Transaction& transaction) {
      const versions::Branch branch = database->branch(transaction, ref);
      const MergeRequest how = open_merge(op, transaction, *database, branch);
      const auto sides =
          database->merge_sides(transaction, branch, how.kind(), how.commit(), collection, versions::key_of(id_document.bytes()));
      if (!sides || sides->theirs == sides->base) {
        throw OperationError(ErrorCode::no_such_key,
                             "the merge brings no change of that document of " + collection + " to the branch");
      }
      decision.sides = versions::hash_of(sides->view());
      database->decide(transaction, branch, *sides, decision);
    });
    reply.append("resolved", name_of(decision.take));
  }

 private:
  static Decision what_is_decided(const Arguments& arguments, const bson::Document& id) {
    const auto take = arguments.string("take");
    const auto document = arguments.object("document");
    if (take.has_value() == document.has_value())
      throw OperationError(ErrorCode::bad_value, "resolveConflict wants 'take' or 'document', and not both");
    if (document) {
      bson::Builder whole;
      whole.append_all(id);
      for (const auto& field : *document) {
        if (field.name != "_id")
          whole.append_element(field);
        else if (!field.identical(id.view().find("_id")))
          throw OperationError(ErrorCode::bad_value, "the document has another _id");
      }
      const bson::Document checked = whole.done();
      const auto changed = write::make_storable(checked, std::nullopt);
      return {.take = Decision::Take::document, .document = (changed ? *changed : checked).bytes(), .sides = {}};
    }
    for (const auto& [name, one] : takes) {
      if (*take == name && one != Decision::Take::document) return {.take = one, .document = {}, .sides = {}};
    }
    throw OperationError(ErrorCode::bad_value, "'" + std::string(*take) + "' is none of ours, theirs, base");
  }
};

class ContinueMerge : public Command {
 public:
  std::string_view name() const override { return "continueMerge"; }
  std::string_view help() const override {
    return "merge what is under way on the branch, now that its conflicts are decided\n{ continueMerge: 1, message: <string>, "
           "author: <string> }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"message", "author"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const auto database = branched(op, request);
    const versions::Ref ref = ref_of(request);
    BranchedDatabase::Merge merge;
    std::string what;
    bson::Document said;
    const auto indexes = database->keep_indexes();
    const auto prepare_or_merge = [&] {
      return write::in_transaction(op, [&](storage::Transaction& transaction) {
        const versions::Branch branch = database->branch(transaction, ref);
        const MergeRequest how = open_merge(op, transaction, *database, branch);
        if (database->prepare_merge(transaction, ref, how.request())) return false;
        what = how.description();
        merge = database->merge(transaction, branch.name, how.request(), how.info(op, transaction, *database, arguments));
        if (!merge.conflicts.empty()) throw NotKept();
        const auto head = merge.commit ? merge.commit : database->branches().graph().commit(transaction, branch.head);
        bson::Builder out;
        out.append("branch", branch.name).append("commit", hex(head->id)).append("changed", merge.commit || merge.advanced);
        said = out.done();
        return true;
      });
    };
    try {
      while (!prepare_or_merge()) op.check_interrupt();
    } catch (const NotKept&) {
      fail_with_conflicts("the " + what, merge.conflicts);
    }
    reply.append_all(said);
    append_count(reply, "touchedByBoth", static_cast<int64_t>(merge.touched_by_both));
  }
};

class AbortMerge : public Command {
 public:
  std::string_view name() const override { return "abortMerge"; }
  std::string_view help() const override {
    return "forget the merge that is under way on the branch, which is as it was\n{ abortMerge: 1 }";
  }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const auto database = branched(op, request);
    const versions::Ref ref = ref_of(request);
    write::in_transaction(
        op, [&](storage::Transaction& transaction) { database->abort_merge(transaction, database->branch(transaction, ref)); });
    reply.append("aborted", true);
  }
};

}  // namespace

std::unique_ptr<Command> make_list_conflicts_command() {
  return std::make_unique<ListConflicts>();
}
std::unique_ptr<Command> make_resolve_conflict_command() {
  return std::make_unique<ResolveConflict>();
}
std::unique_ptr<Command> make_continue_merge_command() {
  return std::make_unique<ContinueMerge>();
}
std::unique_ptr<Command> make_abort_merge_command() {
  return std::make_unique<AbortMerge>();
}

}  // namespace server
