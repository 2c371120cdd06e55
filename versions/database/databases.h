// Databases knows which databases have branches, and what names with an `@` stand for.
//
//   versions-databases   'd' name -> number varint | (collection varint, holes varint) ...
//                        'k' number 4, name -> collection varint ...     dropped, but declared snapshots show what was in it
//                        'n'      -> next number varint
//
// A database that was never branched isn't known here, and costs nothing. The table is made with the first branch of the first
// database. A name that is no branch, tag or commit may be that of a declared snapshot, in any database.
#pragma once

#include <mutex>
#include <set>
#include <shared_mutex>

#include "base/mutex.h"
#include "storage/collections/catalog.h"
#include "versions/database/branched_database.h"
#include "versions/database/past_views.h"

namespace storage {
class Store;
}

namespace versions {

// Thread-safe. It must live as long as the engine is used, and is the catalog's ViewSource meanwhile.
class Databases final : public storage::ViewSource, public storage::BranchReplayer {
 public:
  // Reads what there is, and removes what a crash left. `log` receives every change; nullptr: there is no log.
  Databases(storage::Store& store, past::Past& past, storage::BranchLog* log = nullptr);
  ~Databases() override;

  // nullptr: the database has no branches.
  std::shared_ptr<BranchedDatabase> find(std::string_view name) const;
  std::vector<std::shared_ptr<BranchedDatabase>> all() const;
  // Finds the database's branches, or begins them: its documents become main's first commit. Readers that are in the database
  // meet QueryPlanKilled at their next batch. Throws NamespaceNotFound if there is no such database, and IllegalOperation if it
  // can't have branches.
  struct Begun {
    std::shared_ptr<BranchedDatabase> database;
    bool is_new = false;  // whether this call began the branches
    Stamp logged = 0;     // the timestamp of the log's entry of that
  };
  // `given` is the change's timestamp if another member made it.
  Begun find_or_begin(const std::string& name, const CommitInfo& info, Stamp given = 0, const storage::SchemaChange& how = {});

  // As long as a share of the result lives, the database is one of those whose first commit comes from another server. Nobody
  // may change its collections meanwhile, or the commit would be another one.
  [[nodiscard]] std::shared_ptr<void> receive_first(const std::string& name);
  bool receives_first(std::string_view name) const;

  // Drops the branch with whatever isn't committed there. Nobody else may write to it.
  void drop_branch(BranchedDatabase& database, const std::string& name);

  // Removes the document from all branches, commits and snapshots (BranchedDatabase::purge); if the collection has no versions,
  // from the collection and all snapshots. Returns how many contents that were. `in_transaction` runs the work. Throws
  // NamespaceNotFound if there is no such collection, and IllegalOperation in `local`.
  using InTransaction = std::function<uint64_t(const std::function<uint64_t(Transaction&)>& work)>;
  uint64_t purge(const std::string& db, const std::string& collection, const bson::ValueView& id,
                 const BranchedDatabase::Lost& lost, const InTransaction& in_transaction);

  // Declares a snapshot of the whole server (past::Snapshots::declare). `interrupted` is called while it waits for earlier
  // writes.
  past::DeclaredSnapshot declare_snapshot(const std::string& name, const std::function<void()>& interrupted);
  // False: there is no snapshot of that number.
  bool drop_snapshot(uint64_t number);
  // Does what past::Past::sweep does, and also frees what only dropped snapshots showed of databases that had branches.
  void sweep_snapshots(const std::function<void()>& interrupted);

  std::shared_ptr<storage::Collection> open(std::string_view ns) override;
  std::vector<std::shared_ptr<storage::Collection>> collections(std::string_view db) override;
  std::string home(std::string_view ns) override;
  // Returns whether the name stands for a declared snapshot: shop@s42, shop@dev@s42. Throws for a name that nothing can have.
  bool names_snapshot(std::string_view db) const { return snapshot_behind(db).has_value(); }
  bool has_views(std::string_view db) override { return find(db) != nullptr; }
  bool has(std::string_view db, const storage::Collection& collection) override;
  bool anybody_has(std::string_view db, const storage::Collection& collection) override;
  bool make(std::string_view db, const storage::Collection& collection) override;
  bool drop(std::string_view db, const storage::Collection& collection, const storage::ReplayedChange* replayed) override;
  void gone(const storage::Collection& collection) override;
  void check_alone(std::string_view db, std::string_view what) override;
  void created(storage::StoredCollection& collection) override;
  base::ExclusiveHold changing_indexes(std::string_view db, const base::Interrupted& interrupted) override {
    return need(db)->change_indexes(interrupted);
  }
  base::ExclusiveHold dropping_unowned(std::string_view db) override { return need(db)->drop_unnamed(); }
  void check_unique(const storage::StoredCollection& collection, const storage::StoredIndexes& built, std::string_view ns,
                    const std::function<void()>& interrupted) override;
  void dropping(Transaction& transaction, std::string_view db) override;
  void dropped(std::string_view db) override;
  void replay(const std::string& db, const std::vector<storage::BranchChange>& changes,
              const storage::ReplayedChange& replayed) override;

 private:
  // A dropped database that a snapshot shows, with all that its branches were.
  struct Kept {
    std::shared_ptr<BranchedDatabase> database;
    std::vector<std::shared_ptr<storage::StoredCollection>> collections;
  };

  // A capped collection has no versions: it goes on under the database's own name, and its oldest documents go when new ones
  // come.
  static bool has_versions(const storage::Collection& collection) { return !collection.options().capped; }
  void load() REQUIRES(mutex_);
  void load_kept() REQUIRES(mutex_);
  void remove_orphans() REQUIRES(mutex_);
  std::shared_ptr<BranchedDatabase> find_kept(uint32_t number) const;
  bool shown_by_any_snapshot(Transaction& transaction,
                             storage::CollectionId collection) const;  // whether snapshots show it, by what was saved
  void forget_kept();
  std::shared_ptr<BranchedDatabase> need(std::string_view db) const;
  // Changes one branch, in a transaction. False: there was nothing to change.
  bool change(std::string_view db, const std::function<bool(Transaction&, BranchedDatabase&, const Branch&)>& work,
              const storage::ReplayedChange* replayed = nullptr);
  BranchedDatabase::Lost lost() const;
  // The meaning of a database's name that names a declared snapshot: shop@s42, shop@dev@s42.
  struct Then {
    past::DeclaredSnapshot snapshot;
    std::string branch;
  };
  std::optional<Then> snapshot_behind(std::string_view db) const;
  // The records that its collections show; empty if the database had no branches. Throws NamespaceNotFound if the branch didn't
  // exist.
  PastViews::BranchThen branch_of(std::string_view db, const Then& then) const;
  uint64_t purge_unversioned(Transaction& transaction, const std::string& db, storage::StoredCollection& collection,
                             const bson::ValueView& id, const BranchedDatabase::Lost& lost) const;
  void replay_purge(const std::string& db, const storage::BranchChange& change, const storage::ReplayedChange& replayed);
  // snapshot_log.cpp has these two. `entry` is one of versions/log/snapshot_entries.h, encoded.
  void log_snapshot(Transaction& transaction, const bson::Document& entry) const;
  void replay_snapshots(const std::vector<storage::BranchChange>& changes, const storage::ReplayedChange& replayed);

  storage::Store& store_;
  storage::BranchLog* const log_;
  PastViews past_;
  // Nodes of trees that commits go on from, of all databases.
  static constexpr size_t node_cache_bytes = 32 << 20;
  const std::shared_ptr<merkle::NodeCache> nodes_ = std::make_shared<merkle::NodeCache>(node_cache_bytes);
  storage::Table table_;  // made when it is needed
  mutable base::SharedMutex mutex_;
  std::map<std::string, std::shared_ptr<BranchedDatabase>, std::less<>> databases_ GUARDED_BY(mutex_);
  std::map<uint32_t, Kept> kept_ GUARDED_BY(mutex_);  // by number
  base::Mutex forgetting_;                            // one thread at a time runs forget_kept
  mutable base::Mutex receiving_mutex_;
  std::multiset<std::string, std::less<>> receiving_ GUARDED_BY(receiving_mutex_);
};

}  // namespace versions
