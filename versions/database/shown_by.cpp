#include "versions/database/shown_by.h"

#include <set>

#include "base/error.h"
#include "base/guarded.h"
#include "base/hash.h"
#include "bson/builder.h"
#include "bson/key_types.h"
#include "storage/engine/names.h"
#include "storage/store.h"
#include "versions/database/databases.h"
#include "versions/past/past_collection.h"

namespace versions {
namespace {

using base::guarded;
using storage::DamagedDocument;
using storage::RecordId;

class Search {
 public:
  Search(Databases& databases, past::Past& past, const std::shared_ptr<storage::StoredCollection>& collection,
         std::vector<DamagedDocument>& damaged, size_t count_max, const std::function<void()>& interrupted)
      : databases_(databases),
        past_(past),
        store_(past.store()),
        collection_(*collection),
        db_(storage::database_of(collection->ns())),
        damaged_(damaged),
        count_max_(count_max),
        interrupted_(interrupted) {}

  std::map<RecordId, ShownBy> found;

  void run() {
    const auto database = databases_.find(db_);
    const auto shared = database ? database->versions_of(collection_.id()) : nullptr;
    std::vector<std::string> branches = {db_};
    if (!shared) {
      for (const DamagedDocument& document : damaged_) found[document.record].databases.push_back(db_);
    } else {
      guarded([&] { look_at_branches(*shared, branches); });
    }
    for (const auto& snapshot : past_.snapshots().all()) {
      std::string then = snapshot.name;
      if (then.empty()) then.append("s").append(std::to_string(snapshot.number));
      for (const std::string& branch : branches) look_at_snapshot(branch + "@" + then);
    }
    if (in_snapshots_ > 0) guarded([&] { name_those_of_snapshots(); });
  }

 private:
  void ask() const {
    if (interrupted_) interrupted_();
  }

  std::string name_of(std::string_view ref) const { return db_ + "@" + escaped(ref); }

  void look_at_branches(SharedCollection& shared, std::vector<std::string>& branches) {
    Transaction transaction(store_, Transaction::Mode::read);
    for (const Branch& branch : shared.graph.branches(transaction)) {
      const bool main = branch.name == BranchedDatabase::main;
      const std::string name = main ? db_ : name_of(branch.name);
      if (!main) branches.push_back(name);
      guarded([&] { look_at_view(transaction, shared, shared.view_of(transaction, branch), name); });
    }
    for (const auto& [tag, commit] : shared.graph.tags(transaction)) {
      if (is_stash_name(tag)) continue;  // its commit is looked at below
      guarded([&, &tag = tag, commit = commit] {
        look_at_view(transaction, shared, shared.view_of(transaction, commit), name_of(tag));
      });
    }
    const Graph graph = shared.graph.graph(transaction);
    for (auto node = graph.rbegin(); node != graph.rend(); ++node) {
      if (!node->second.dropped) guarded([&] { look_at_commit(transaction, shared, node->first); });
    }
  }

  void look_at_view(Transaction& transaction, SharedCollection& shared, const View& view, const std::string& name) {
    for (const DamagedDocument& document : damaged_) {
      ask();
      if (shared.store.shows(transaction, view, document.record)) found[document.record].databases.push_back(name);
    }
  }

  void look_at_commit(Transaction& transaction, SharedCollection& shared, CommitNumber number) {
    const View view = shared.view_of(transaction, number);
    std::string id;
    for (const DamagedDocument& document : damaged_) {
      ask();
      if (!shared.store.shows(transaction, view, document.record)) continue;
      ShownBy& by = found[document.record];
      if (by.commits.size() == ShownBy::commits_max) {
        ++by.more_commits;
        continue;
      }
      if (id.empty()) id = base::to_hex(merkle::view(shared.graph.commit(transaction, number)->id));
      by.commits.push_back(id);
    }
  }

  // `name` is that of the database in the snapshot.
  void look_at_snapshot(const std::string& name) {
    std::shared_ptr<past::PastCollection> then;
    try {
      for (const auto& one : databases_.collections(name)) {
        if (one->id() == collection_.id()) then = std::dynamic_pointer_cast<past::PastCollection>(one);
      }
    } catch (const base::OperationError& error) {
      if (error.code() == base::ErrorCode::namespace_not_found) return;  // the branch is younger than the snapshot
      if (error.code() != base::ErrorCode::data_corruption_detected) throw;
    }
    if (!then) return;
    const auto schema = base::hold_shared(collection_.schema_mutex(), interrupted_);
    Transaction transaction(store_, Transaction::Mode::read);
    transaction.pass_by_caches();
    std::set<RecordId> known;
    const size_t before = damaged_.size();
    for (size_t i = 0; i < before; ++i) {
      const RecordId record = damaged_[i].record;
      known.insert(record);
      if (!read(transaction, *then, record).empty()) found[record].databases.push_back(name);
    }
    // Contents that were written since may be damaged for this snapshot alone.
    guarded([&] {
      const auto rows = then->rows(transaction);
      for (const past::PageTable* table : {&rows->table->rows, &rows->newer.rows}) {
        for (const past::Mapping& written : table->in_order()) {
          if (!known.insert(written.row).second) continue;
          const std::string why = read(transaction, *then, written.row);
          if (why.empty() || damaged_.size() == count_max_) continue;
          damaged_.push_back({written.row, {}, why});
          found[written.row].databases.push_back(name);
          ++in_snapshots_;
        }
      }
    });
  }

  // Returns why the snapshot can't show the record; an empty string: it can, or doesn't have it.
  std::string read(Transaction& transaction, past::PastCollection& then, RecordId record) const {
    ask();
    try {
      if (then.may_show(record)) then.find(transaction, record, nullptr);
      return {};
    } catch (const base::OperationError& damage) {
      if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
      return damage.what();
    }
  }

  // The entries under `_id` of those that were removed were saved. The others still have their `_id`s.
  void name_those_of_snapshots() {
    std::map<RecordId, DamagedDocument*> unnamed;
    for (DamagedDocument& document : damaged_) {
      if (document.id.empty()) unnamed[document.record] = &document;
    }
    Transaction transaction(store_, Transaction::Mode::read);
    for (const auto& index : *collection_.stored_indexes()) {
      if (!index->is_id() || index->spec().collator) continue;  // a sort key doesn't say what its string was
      past::SavedEntries::Cursor saved(past_.entries(), transaction, collection_.id(), index->number(),
                                       storage::Direction::forward);
      saved.seek({});
      while (saved.next()) {
        ask();
        const auto document = unnamed.find(saved.record());
        if (document == unnamed.end()) continue;
        bson::Builder id;
        bson::KeyReader values(saved.key(), {});
        values.next(false, "_id", id);
        if (values.ok()) document->second->id = id.done();
      }
    }
    for (const auto& [record, document] : unnamed) {
      ask();
      guarded([&, record = record, document = document] {
        const auto now = document->id.empty() ? collection_.find(transaction, record, nullptr) : std::nullopt;
        if (!now) return;
        bson::Builder id;
        id.append("_id", (*now)["_id"]);
        document->id = id.done();
      });
    }
  }

  Databases& databases_;
  past::Past& past_;
  storage::Store& store_;
  storage::StoredCollection& collection_;
  const std::string db_;
  std::vector<DamagedDocument>& damaged_;
  const size_t count_max_;
  const std::function<void()>& interrupted_;
  size_t in_snapshots_ = 0;  // so many of the damaged documents are of snapshots alone
};

}  // namespace

std::map<RecordId, ShownBy> shown_by(Databases& databases, past::Past& past,
                                     const std::shared_ptr<storage::StoredCollection>& collection,
                                     std::vector<DamagedDocument>& damaged, size_t count_max,
                                     const std::function<void()>& interrupted) {
  Search search(databases, past, collection, damaged, count_max, interrupted);
  search.run();
  return std::move(search.found);
}

}  // namespace versions
