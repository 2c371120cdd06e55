// Which databases have branches, and what names with an `@` stand for.
//
//   versions-databases   'd' name -> number varint | (collection varint, holes varint) ...
//                        'k' number 4, name -> collection varint ...     dropped, but declared snapshots show what was in it
//                        'n'      -> next number varint
//
// A database that was never branched isn't known here, and has nothing of all this. The table is made with the first branch of
// the first database. What names no branch, tag or commit may name a declared snapshot, of any database.
#pragma once

#include "storage/collections/catalog.h"
#include "versions/database/branched_database.h"
#include "versions/database/past_views.h"

namespace storage {
class Store;
}

namespace versions {

// Thread-safe. Lives as long as the engine is used, and is the catalog's ViewSource meanwhile.
class Databases final : public storage::ViewSource, public storage::BranchMaker {
 public:
  // Reads what there is, and takes away what a crash left. `log`: told of every change; nullptr: nobody is.
  Databases(storage::Store& store, past::Past& past, storage::BranchLog* log = nullptr);
  ~Databases() override;

  // nullptr: it has no branches.
  std::shared_ptr<BranchedDatabase> find(std::string_view name) const;
  std::vector<std::shared_ptr<BranchedDatabase>> all() const;
  // The same as find, and makes it one that has where it isn't: its documents become main's first commit. Readers that are in it
  // meet QueryPlanKilled at their next batch. Throws NamespaceNotFound where there is no such database, IllegalOperation where it
  // can't have branches.
  struct Begun {
    std::shared_ptr<BranchedDatabase> database;
    bool is_new = false;  // it had none before this call
    Stamp logged = 0;     // and that is what the log has of it
  };
  // `given`: the stamp of the change where it was made elsewhere.
  Begun find_or_begin(const std::string& name, const CommitInfo& info, Stamp given = 0);

  // Whatever isn't committed there. Nobody else may write to the branch.
  void drop_branch(BranchedDatabase& database, const std::string& name);

  // Takes the document out of all branches, commits and snapshots (BranchedDatabase::purge), or where the collection has no
  // versions, out of it and all snapshots. Returns how many contents that were. `in_transaction` runs it. Throws
  // NamespaceNotFound where there is no such collection, IllegalOperation in `local`.
  using InTransaction = std::function<uint64_t(const std::function<uint64_t(Transaction&)>& work)>;
  uint64_t purge(const std::string& db, const std::string& collection, const bson::ValueView& id,
                 const BranchedDatabase::Lost& lost, const InTransaction& in_transaction);

  // Of the whole server (past::Snapshots::declare). `interrupted` is asked while it waits for writes that were begun before.
  past::DeclaredSnapshot declare_snapshot(const std::string& name, const std::function<void()>& interrupted);
  // False: there is none of that number.
  bool drop_snapshot(uint64_t number);
  // As past::Past::sweep, and what only dropped snapshots showed of databases that had branches.
  void sweep_snapshots(const std::function<void()>& interrupted);

  std::shared_ptr<storage::Collection> open(std::string_view ns) override;
  std::vector<std::shared_ptr<storage::Collection>> collections(std::string_view db) override;
  std::string home(std::string_view ns) override;
  // Whether the name stands for a declared snapshot: shop@s42, shop@dev@s42. Throws for one that can't be a name.
  bool names_snapshot(std::string_view db) const { return snapshot_behind(db).has_value(); }
  bool has_views(std::string_view db) override { return find(db) != nullptr; }
  bool has(std::string_view db, const storage::Collection& collection) override;
  bool anybody_has(std::string_view db, const storage::Collection& collection) override;
  bool make(std::string_view db, const storage::Collection& collection) override;
  bool drop(std::string_view db, const storage::Collection& collection) override;
  void gone(const storage::Collection& collection) override;
  void check_alone(std::string_view db, std::string_view what) override;
  void created(storage::StoredCollection& collection) override;
  std::unique_lock<std::shared_mutex> changing_indexes(std::string_view db) override { return need(db)->change_indexes(); }
  void check_unique(const storage::StoredCollection& collection, const storage::StoredIndexes& built, std::string_view ns,
                    const std::function<void()>& interrupted) override;
  void dropping(Transaction& transaction, std::string_view db) override;
  void dropped(std::string_view db) override;
  void make_again(const std::string& db, const std::vector<storage::BranchChange>& changes) override;

 private:
  // Of a database that was dropped: all that its branches were, as long as a snapshot shows that.
  struct Kept {
    std::shared_ptr<BranchedDatabase> database;
    std::vector<std::shared_ptr<storage::StoredCollection>> collections;
  };

  // A capped one goes on by itself, under the database's own name: its oldest documents go when new ones come.
  static bool has_versions(const storage::Collection& collection) { return !collection.options().capped; }
  void load();
  void load_kept();
  void remove_orphans();
  std::shared_ptr<BranchedDatabase> find_kept(uint32_t number) const;
  bool is_told(Transaction& transaction, storage::CollectionId collection) const;  // that snapshots show it, by what was saved
  void forget_kept();
  std::shared_ptr<BranchedDatabase> need(std::string_view db) const;
  // A change of one branch, in a transaction. False: there was none to make.
  bool change(std::string_view db, const std::function<bool(Transaction&, BranchedDatabase&, const Branch&)>& work);
  BranchedDatabase::Lost lost() const;
  // A database's name that stands for a declared snapshot: shop@s42, shop@dev@s42.
  struct Then {
    past::DeclaredSnapshot snapshot;
    std::string branch;
  };
  std::optional<Then> snapshot_behind(std::string_view db) const;
  // What its collections show; anything where the database had no branches. Throws NamespaceNotFound for a branch that wasn't
  // there.
  PastViews::BranchThen branch_of(std::string_view db, const Then& then) const;
  uint64_t purge_unversioned(Transaction& transaction, const std::string& db, storage::StoredCollection& collection,
                             const bson::ValueView& id, const BranchedDatabase::Lost& lost) const;
  void purge_again(const std::string& db, const storage::BranchChange& change);
  void tell_of_snapshot(Transaction& transaction, const bson::Document& command) const;
  // False: they are about branches.
  bool make_snapshots_again(std::string_view db, const std::vector<storage::BranchChange>& changes);

  storage::Store& store_;
  storage::BranchLog* const log_;
  PastViews past_;
  // Of all databases: nodes of trees that commits go on from.
  static constexpr size_t node_cache_bytes = 32 << 20;
  const std::shared_ptr<merkle::NodeCache> nodes_ = std::make_shared<merkle::NodeCache>(node_cache_bytes);
  storage::Table table_;  // made when it is needed
  mutable std::shared_mutex mutex_;
  std::map<std::string, std::shared_ptr<BranchedDatabase>, std::less<>> databases_;
  std::map<uint32_t, Kept> kept_;  // by number
  std::mutex forgetting_;
};

}  // namespace versions
