// listConflicts returns what is to be decided in the merge that is under way on a branch, and what has been.
//
// The merge is tried in a transaction that is aborted; this says which documents are in conflict. Documents of conflicts may be
// more than fits into memory, so they are read one after another, as the client asks for them, all as they were at that moment.
#include "server/commands/shared/branches.h"
#include "server/commands/shared/list_cursor.h"
#include "server/commands/versions/open_merge.h"
#include "server/core/memory.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/cursor_registry.h"
#include "server/write/batch.h"

namespace server {
namespace {

using versions::BranchedDatabase;
using versions::Decision;

constexpr size_t shown_bytes = 12 << 20;  // of all documents in one conflict: a reply holds 16 MB

bson::Document id_of(const BranchedDatabase::MergeSides& sides) {
  const auto& any = sides.ours ? sides.ours : sides.theirs ? sides.theirs : sides.base;
  bson::Builder id;
  if (any) id.append("_id", static_cast<bson::ValueView>(bson::DocumentView(*any).find("_id")));
  return id.done();
}

// Appends the sides, and the document that was decided on; empty: there is none.
void append_documents(const BranchedDatabase::MergeSides& sides, bson::BytesView document, bson::Builder& out) {
  size_t bytes = document.size();
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
  if (!document.empty()) out.append("document", bson::DocumentView(document));
}

// The conflicts and decisions of a merge that is under way. Their documents are read later, one conflict at a time.
struct Met {
  versions::Branch branch;
  versions::Branches::MergeKind kind;
  versions::CommitNumber from;
  std::vector<BranchedDatabase::Conflict> conflicts;
  std::vector<BranchedDatabase::Decided> decided;
  std::unique_ptr<storage::Transaction> moment;  // in which the documents are read

  size_t bytes() const {
    size_t bytes = 0;
    for (const auto& one : conflicts) {
      bytes += sizeof(one) + one.collection.size() + one.id.size() + one.index.size() + one.key.size() + one.other.size();
      for (const std::string& path : one.paths) bytes += sizeof(path) + path.size();
    }
    for (const auto& one : decided) bytes += sizeof(one) + one.collection.size() + one.key.size();
    return bytes;
  }
};

Met try_merge(OperationContext& op, BranchedDatabase& database, const versions::Ref& ref) {
  std::optional<Met> met;
  const auto indexes = database.keep_indexes(op.interrupted());
  try {
    write::in_transaction(op, [&](storage::Transaction& transaction) {
      const versions::Branch branch = database.branch(transaction, ref);
      const MergeRequest how = open_merge(op, transaction, database, branch);
      met = Met{branch, how.kind(), how.commit(), {}, database.decided(transaction, branch), nullptr};
      met->moment = std::make_unique<storage::Transaction>(write::store_of(op), storage::Transaction::Mode::read);
      met->conflicts = database.merge(transaction, branch.name, how.request(), {}).conflicts;
      throw NotKept();
    });
  } catch (const NotKept&) {
  }
  return std::move(*met);
}

class ConflictSource : public query::CursorSource {
 public:
  ConflictSource(OperationContext& op, std::shared_ptr<BranchedDatabase> database, const versions::Ref& ref)
      : op_(&op), database_(std::move(database)), memory_(&op.services().memory), met_(try_merge(op, *database_, ref)) {
    listed_.set(met_.bytes());
  }

  void begin(OperationContext& op) override { op_ = &op; }
  void end() override { op_ = nullptr; }
  bool next() override {
    shown_ = bson::Document();
    held_.set(0);
    op_->check_interrupt();
    if (conflict_ < met_.conflicts.size()) {
      show(met_.conflicts[conflict_++]);
      return true;
    }
    while (decided_ < met_.decided.size()) {
      op_->check_interrupt();
      if (show(met_.decided[decided_++])) return true;
    }
    return false;
  }
  bson::DocumentView document() override { return shown_; }

 private:
  void show(const BranchedDatabase::Conflict& conflict) {
    bson::Builder out;
    append_conflict(conflict, out);
    if (const auto sides = sides_of(conflict.collection, versions::key_of(conflict.id.bytes())))
      append_documents(*sides, {}, out);
    keep(out);
  }

  // Returns false if the document has changed since it was decided: then it is among the conflicts again.
  bool show(const BranchedDatabase::Decided& one) {
    const auto sides = sides_of(one.collection, one.key);
    if (!sides) return false;
    const auto decision = database_->decision(*met_.moment, met_.branch, *sides);
    if (!decision || versions::hash_of(sides->view()) != decision->sides) return false;
    bson::Builder out;
    out.append("collection", one.collection).append_all(id_of(*sides)).append("resolved", name_of(decision->take));
    append_documents(*sides, decision->document, out);
    keep(out);
    return true;
  }

  std::optional<BranchedDatabase::MergeSides> sides_of(std::string_view collection, bson::BytesView key) {
    return database_->merge_sides(*met_.moment, met_.branch, met_.kind, met_.from, collection, key);
  }

  void keep(bson::Builder& out) {
    held_.set(out.size());
    shown_ = out.done();
  }

  OperationContext* op_;  // nullptr between batches
  const std::shared_ptr<BranchedDatabase> database_;
  MemoryBudget memory_;
  Held listed_{memory_}, held_{memory_};  // met_, shown_
  const Met met_;
  size_t conflict_ = 0, decided_ = 0;
  bson::Document shown_;
};

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
    auto source = std::make_unique<ConflictSource>(op, branched(op, request), ref_of(request));
    reply_source(op, request, request.db + ".$cmd.listConflicts", std::move(source), reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_list_conflicts_command() {
  return std::make_unique<ListConflicts>();
}

}  // namespace server
