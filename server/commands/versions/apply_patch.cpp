// applyPatch applies changes of documents, as diff shows them, to a branch.
#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "server/commands/shared/branches.h"
#include "server/commands/versions/branch_writer.h"
#include "server/commands/versions/document_change.h"
#include "server/commands/versions/merge_request.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/write/batch.h"
#include "server/write/namespaces.h"
#include "server/write/target.h"
#include "storage/engine/interruptible_waits.h"
#include "storage/store.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;
using versions::BranchedDatabase;

constexpr size_t changes_max = 100'000;

// The changes of a request, and how they are merged with what the branch shows.
class Patch {
 public:
  Patch(OperationContext& op, const Arguments& arguments)
      : how_(op, MergeRequest::MergeKind::cherry_pick, "the patch", arguments) {
    std::set<std::pair<std::string, base::Bytes>> met;
    for (const bson::Element& one : arguments.required_array("changes")) {
      op.check_interrupt();
      if (changes_.size() == changes_max)
        throw OperationError(ErrorCode::bad_value, "a patch has at most " + std::to_string(changes_max) + " changes");
      const DocumentChange& change = changes_.emplace_back(one);
      // Views and time series stand behind such names.
      if (write::is_system("db." + change.collection()))
        throw OperationError(ErrorCode::bad_value, "a patch changes no collection of the server's own: " + change.collection());
      write::check_creatable("db." + change.collection());
      if (!met.emplace(change.collection(), change.key()).second)
        throw OperationError(ErrorCode::bad_value, "a patch changes a document of " + change.collection() + " twice");
      if (change.is_patch() && arguments.any("resolve").exists())
        throw OperationError(
            ErrorCode::bad_value,
            "'resolve' is for changes with 'before' and 'after': an operation of a JSON patch fits or it doesn't");
    }
    std::stable_sort(changes_.begin(), changes_.end(),
                     [](const auto& a, const auto& b) { return a.collection() < b.collection(); });
  }

  const std::vector<DocumentChange>& changes() const { return changes_; }

  DocumentChange::Outcome apply(const DocumentChange& change, const std::optional<bson::Document>& ours) const {
    const auto& request = how_.request();
    const auto own = request.of_collection.find(change.collection());
    return change.applied_to(ours, own == request.of_collection.end() ? request.resolve : own->second, request.interrupted,
                             request.hold);
  }
  versions::KeptBytes nothing_kept() const { return versions::KeptBytes(how_.request().hold); }

 private:
  const MergeRequest how_;
  std::vector<DocumentChange> changes_;
};

// Checked counts what the changes do to the branch as a transaction sees it. The documents themselves aren't kept: a small patch
// may change many large ones.
struct Checked {
  int64_t inserted = 0, modified = 0, deleted = 0, touched_by_both = 0;
  std::vector<BranchedDatabase::Conflict> conflicts = {};
  std::vector<std::string> missing = {};         // collections that the database doesn't have, and that get documents
  std::vector<storage::CollectionId> made = {};  // those that the branch doesn't have
  versions::KeptBytes kept = {};                 // what the conflicts take

  bool changes() const { return inserted + modified + deleted > 0; }
};

struct Found {
  storage::RecordId record;
  bson::Document document;
};
// The document that the change is about. A collation may find one with another _id, which isn't it.
std::optional<Found> find(storage::Transaction& transaction, storage::Collection& collection, const DocumentChange& change) {
  const auto record = collection.find_id(transaction, change.id());
  auto document = record ? collection.find(transaction, *record, nullptr) : std::nullopt;
  if (!document || versions::key_of(document->bytes()) != change.key()) return std::nullopt;
  return Found{*record, *std::move(document)};
}

// Writes a patch's documents in a transaction: first what goes, since what is inserted may need its keys, then the others.
class PatchedDocuments {
 public:
  PatchedDocuments(OperationContext& op, storage::Transaction& transaction, const BranchWriter& branch, std::string db,
                   const Patch& patch)
      : op_(op), transaction_(transaction), branch_(branch), db_(std::move(db)), patch_(patch) {}

  // With `anew` documents that are updated go as well, and put() inserts them, so that two may exchange what a unique index
  // allows once.
  void remove(bool anew) {
    each([&](const DocumentChange& change, std::optional<bson::Document>& kept) {
      const auto there = find(transaction_, *target_, change);
      if (!there) return;
      auto outcome = outcome_of(change, there);
      if (!outcome.changes || (outcome.after && !anew)) return;
      documents_->remove(transaction_, there->record, there->document);
      kept = outcome.after ? std::move(outcome.after) : bson::Document();
    });
  }

  void put() {
    each([&](const DocumentChange& change, std::optional<bson::Document>& kept) {
      if (kept) {
        if (!kept->view().empty()) documents_->insert(transaction_, *kept);
        return;
      }
      const auto there = find(transaction_, *target_, change);
      const auto outcome = outcome_of(change, there);
      if (!outcome.changes || !outcome.after) return;
      if (there)
        documents_->update(transaction_, there->record, there->document, *outcome.after);
      else
        documents_->insert(transaction_, *outcome.after);
    });
  }

 private:
  DocumentChange::Outcome outcome_of(const DocumentChange& change, const std::optional<Found>& there) const {
    auto outcome = patch_.apply(change, there ? std::optional(there->document) : std::nullopt);
    if (outcome.conflict) throw OperationError(ErrorCode::write_conflict, "somebody else changed the branch meanwhile");
    return outcome;
  }

  // Calls `work` for each change of a collection that is there, with what was kept of it.
  void each(const std::function<void(const DocumentChange&, std::optional<bson::Document>&)>& work) {
    std::string name;
    documents_.reset();
    for (size_t i = 0; i < kept_.size(); ++i) {
      const DocumentChange& change = patch_.changes()[i];
      op_.check_interrupt();
      if (change.collection() != name) {
        name = change.collection();
        documents_.reset();
        const auto there = write::store_of(op_).catalog().open(db_ + "." + name);
        if (!there) continue;
        target_ = branch_.target(there->id());
        documents_.emplace(op_, target_);
      }
      if (documents_) work(change, kept_[i]);
    }
  }

  OperationContext& op_;
  storage::Transaction& transaction_;
  const BranchWriter& branch_;
  const std::string db_;
  const Patch& patch_;
  // remove() notes here, for each change that it began, the document that put() inserts; an empty one if nothing is left to do.
  std::vector<std::optional<bson::Document>> kept_{patch_.changes().size()};
  write::Target target_;
  std::optional<write::DocumentWriter> documents_;
};

class ApplyPatch : public Command {
 public:
  std::string_view name() const override { return "applyPatch"; }
  std::string_view help() const override {
    return "apply changes of documents to the branch, uncommitted; all or none\n"
           "{ applyPatch: 1, changes: [ <documents of diff, with format: \"jsonPatch\" or not; or lines of JSON>, … ],\n"
           "  mode, resolve, paths, collections: as merge, for changes with before and after; without resolve: \"manual\",\n"
           "  dryRun: <bool>, bypassDocumentValidation: <bool> }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {
        "changes", "mode", "resolve", "paths", "collections", "dryRun", "bypassDocumentValidation"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const bool dry_run = arguments.loose_boolean("dryRun").value_or(false);
    refuse_manual(arguments, "a patch");
    const Patch patch(op, arguments);
    const auto database = branched(op, request);
    const versions::Ref ref = ref_of(request);
    storage::Store& store = write::store_of(op);
    std::string branch;
    const auto look = [&] {
      storage::Transaction transaction(store, storage::Transaction::Mode::read);
      const versions::Branch onto = database->branch(transaction, ref);
      branch = onto.name;
      return check(op, transaction, *database, onto, patch);
    };
    Checked checked = look();
    std::set<std::string> created;
    const auto apply = [&] {
      while (!dry_run && checked.conflicts.empty() && checked.changes()) {
        for (const std::string& name : checked.missing) {
          if (create(op, db_of(*database, branch) + "." + name)) created.insert(name);
        }
        bool done = false;
        store.catalog().alone(database->name(), op.interrupted(), [&](const auto&) {
          checked = look();
          if (checked.conflicts.empty() && !checked.missing.empty()) return;
          done = true;
          // If the patch fails, the writer drops the collections that were created for it.
          for (const std::string& name : created) {
            if (const auto there = store.catalog().open(db_of(*database, branch) + "." + name))
              checked.made.push_back(there->id());
          }
          write(op, *database, branch, patch, checked);
        });
        if (done) break;
        op.check_interrupt();
      }
    };
    try {
      apply();
    } catch (...) {
      drop_created(op, *database, branch, created);
      throw;
    }
    if (!dry_run && !checked.conflicts.empty()) fail_with_conflicts("the patch", checked.conflicts);
    reply.append("branch", branch).append("changed", checked.conflicts.empty() && checked.changes());
    append_count(reply, "inserted", checked.inserted);
    append_count(reply, "modified", checked.modified);
    append_count(reply, "deleted", checked.deleted);
    append_count(reply, "touchedByBoth", checked.touched_by_both);
    if (dry_run) append_conflicts(checked.conflicts, reply);
  }

 private:
  static std::string db_of(const BranchedDatabase& database, const std::string& branch) {
    return branch == BranchedDatabase::main ? database.name() : database.name() + "@" + versions::escaped(branch);
  }

  static Checked check(OperationContext& op, storage::Transaction& transaction, BranchedDatabase& database,
                       const versions::Branch& branch, const Patch& patch) {
    storage::Catalog& catalog = write::store_of(op).catalog();
    Checked checked;
    checked.kept = patch.nothing_kept();
    std::string name;
    std::shared_ptr<storage::Collection> collection;
    bool gets_documents = false, has = false;
    const auto end_collection = [&] {
      if (!gets_documents || has) return;
      if (collection)
        checked.made.push_back(collection->id());
      else
        checked.missing.push_back(name);
    };
    for (const DocumentChange& change : patch.changes()) {
      op.check_interrupt();
      if (change.collection() != name) {
        end_collection();
        name = change.collection(), gets_documents = false;
        const std::string ns = db_of(database, branch.name) + "." + name;
        collection = catalog.open(ns);
        if (collection && !database.versions_of(collection->id()))
          throw OperationError(ErrorCode::illegal_operation, ns + " has no branches, so a patch can't change it");
        has = collection && database.has(transaction, {branch, branch.head}, collection->id());
        if (!has) write::check_writable(op, ns);
      }
      const auto there = has ? find(transaction, *collection, change) : std::nullopt;
      const auto ours = there ? std::optional(there->document) : std::nullopt;
      auto outcome = patch.apply(change, ours);
      checked.touched_by_both += outcome.touched_by_both;
      if (outcome.conflict) {
        bson::Builder id;
        id.append("_id", change.id());
        checked.conflicts.push_back({.collection = name, .id = id.done(), .paths = std::move(outcome.paths)});
        checked.kept.add(checked.conflicts.back().bytes());
      } else if (outcome.changes) {
        ++(!outcome.after ? checked.deleted : ours ? checked.modified : checked.inserted);
        gets_documents |= outcome.after.has_value();
      }
    }
    end_collection();
    return checked;
  }

  static void write(OperationContext& op, BranchedDatabase& database, const std::string& branch, const Patch& patch,
                    const Checked& checked) {
    BranchWriter writer(op, database, branch);
    if (!checked.conflicts.empty()) {
      return write::in_transaction(op, [&](storage::Transaction& transaction) { writer.drop_empty(transaction, checked.made); });
    }
    const auto write = [&](storage::Transaction& transaction, bool anew) {
      transaction.expect_stamps(2 * patch.changes().size());
      PatchedDocuments documents(op, transaction, writer, db_of(database, branch), patch);
      documents.remove(anew);
      documents.put();
    };
    writer.write(
        checked.made, [&](storage::Transaction& transaction) { write(transaction, false); },
        [&](storage::Transaction& transaction) { write(transaction, true); });
  }

  // Returns whether the collection wasn't there.
  static bool create(OperationContext& op, const std::string& ns) {
    try {
      write::store_of(op).catalog().create(ns, {}, {}, {.interrupted = op.interrupted()});
      return true;
    } catch (const OperationError& error) {
      if (error.code() != ErrorCode::namespace_exists) throw;
      return false;
    }
  }

  // Drops the collections that were created for a patch which failed, where nobody uses them yet. The patch's own error is what
  // the client gets. It isn't interrupted: what it waits for are operations that end.
  static void drop_created(OperationContext& op, BranchedDatabase& database, const std::string& branch,
                           const std::set<std::string>& created) {
    if (created.empty()) return;
    const storage::InterruptibleWaits uninterrupted(nullptr);
    storage::Catalog& catalog = write::store_of(op).catalog();
    try {
      catalog.alone(database.name(), nullptr, [&](const auto&) {
        std::vector<storage::CollectionId> ids;
        for (const std::string& name : created) {
          if (const auto there = catalog.open(db_of(database, branch) + "." + name)) ids.push_back(there->id());
        }
        BranchWriter writer(op, database, branch);
        storage::in_transaction(write::store_of(op),
                                [&](storage::Transaction& transaction) { writer.drop_empty(transaction, ids); });
      });
    } catch (const std::exception& error) {
      base::log(base::Severity::warning, base::LogComponent::command, 7100040, "Empty collections of a failed patch stay",
                base::Attributes().add("db", db_of(database, branch)).add("error", error.what()));
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_apply_patch_command() {
  return std::make_unique<ApplyPatch>();
}

}  // namespace server
