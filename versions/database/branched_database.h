// A BranchedDatabase is a database with branches: its collections in versions, and the names of states.
//
// A name is one collection, with its indexes, for all branches. Each branch, and each commit, has the collection or doesn't have
// it: a collection is made on a branch, and dropped there, as its documents are written there. A state that doesn't have it shows
// it empty.
#pragma once

#include <deque>
#include <functional>
#include <map>

#include "base/interruptible_mutex.h"
#include "base/mutex.h"
#include "storage/collections/branch_changes.h"
#include "versions/branch/commit_proof.h"
#include "versions/branch/verification.h"
#include "versions/database/branches_past.h"
#include "versions/database/known_views.h"
#include "versions/database/open_merges.h"
#include "versions/database/refs.h"

namespace storage {
class EntryLog;
class Store;
class VersionRepair;
}  // namespace storage

namespace versions {

struct ImportedCommit;

// The state that a ref names.
struct Place {
  std::optional<Branch> branch;  // nullopt: the ref names a state that can't be written to
  CommitNumber commit = 0;       // the branch's last commit, or that state
};

// Thread-safe; transactions are not. Unknown names throw NamespaceNotFound. Each change of a branch or of its commits appends to
// the log, in the same transaction, what other members need to replay it.
class BranchedDatabase : public std::enable_shared_from_this<BranchedDatabase> {
 public:
  static constexpr std::string_view main = "main";

  // `number` is one that no other database has or had. Opens the tables, or makes them; must not be called inside a transaction.
  // `nodes`: see Roots.
  BranchedDatabase(past::Past& past, storage::BranchLog* log, std::string name, uint32_t number,
                   std::shared_ptr<merkle::NodeCache> nodes);
  ~BranchedDatabase();

  const std::string& name() const { return name_; }
  uint32_t number() const { return number_; }
  Branches& branches() { return branches_; }

  // From now on the collection has versions. It must be shared (share()) before anyone writes to it, and nobody else may use it
  // meanwhile. Must not be called inside a transaction.
  void add(storage::StoredCollection& collection, int64_t holes);
  // Makes the first commit, which every branch begins with: it has the collections' documents so far. Called once, for all
  // collections that were added.
  void begin(Transaction& transaction, const CommitInfo& info);
  void share(storage::StoredCollection& collection);

  Place place(Transaction& transaction, const Ref& ref) const;
  // The view of a collection that the name `ns` stands for, with everything behind the `@`.
  std::shared_ptr<CollectionView> view(Transaction& transaction, const Ref& ref, const std::string& ns,
                                       std::shared_ptr<storage::StoredCollection> base);
  // A view that view() returned before, if it is the same at any time.
  std::shared_ptr<CollectionView> known_view(std::string_view ns) const { return views_.find(ns); }

  // Must be held around each transaction that commits, merges, makes a branch, sweeps or purges, from before it begins: the
  // database's indexes don't change until it ends.
  [[nodiscard]] base::SharedHold keep_indexes(const base::Interrupted& interrupted = nullptr) {
    return base::hold_shared(indexes_, interrupted);
  }
  // Must be held while indexes change, together with the collection's schema lock.
  [[nodiscard]] base::ExclusiveHold change_indexes(const base::Interrupted& interrupted) {
    return base::hold_exclusively(indexes_, interrupted);
  }
  // Must be held while commits arrive from elsewhere, until refs name them: until then nobody shows them, nor the collections
  // that they alone have, and both would look like something to drop. It is taken before any schema lock.
  [[nodiscard]] base::SharedHold keep_unnamed(const base::Interrupted& interrupted) {
    return base::hold_shared(unnamed_, interrupted);
  }
  // Must be held by whoever drops collections or commits that nobody shows, from the look until they are gone. It doesn't wait,
  // and returns an empty hold while commits arrive.
  [[nodiscard]] base::ExclusiveHold drop_unnamed() { return base::ExclusiveHold(unnamed_, std::try_to_lock); }
  // It does what storage::ViewSource::check_unique says.
  void check_unique(storage::CollectionId collection, const storage::StoredIndexes& built, std::string_view ns,
                    const std::function<void()>& interrupted);
  // The database's collections; after it was dropped, those that it had at its end and that weren't removed since.
  std::vector<storage::CollectionId> collections() const;
  // A branch as a declared snapshot shows it; nullopt: it didn't exist. This and the next one work after the database was
  // dropped, too.
  std::optional<Branch> branch_then(Transaction& transaction, const std::string& name, Stamp snapshot) const;
  // The records of a collection that the branch showed in the snapshot; nullptr: it had no such collection.
  std::shared_ptr<past::ShownRecords> shown_then(storage::CollectionId collection, const Branch& branch, Stamp snapshot);

  // Called for each content that is no longer stored, before it goes.
  using Lost = std::function<void(Transaction&, storage::CollectionId, RecordId, Stamp generation, BytesView content)>;

  // Throws DuplicateKey if `from` is a commit from before a unique index, and shows two documents under one of its keys; so does
  // reset().
  Branch create(Transaction& transaction, const std::string& name, const Ref& from);
  // Makes a branch from there that has no collection. It can't contradict any unique index.
  Branch create_empty(Transaction& transaction, const std::string& name, const Ref& from);
  // Nobody else may write to the branch. Throws IllegalOperation for main.
  void drop(Transaction& transaction, const std::string& name, const Lost& lost);
  bool has_pending(Transaction& transaction, BranchId branch);
  // Throws IllegalOperation for a tag, a commit, or a commit behind a branch.
  Branch branch(Transaction& transaction, const Ref& ref) const;
  // Must be repeated before a commit of what may be large, each time in a transaction of its own. It makes a part of a tree that
  // the commit begins with, and that stays even if no commit follows. False: nothing is left to be made.
  bool prepare_commit(Transaction& transaction, const std::string& branch);
  // Commits all collections, or these alone. nullptr: nothing was written since the last commit, whose id says all there is to
  // say.
  std::shared_ptr<const Commit> commit(Transaction& transaction, const std::string& branch, const CommitInfo& info,
                                       const std::vector<std::string>& collections = {});
  // While a share of the result lives, writers to the branch conflict (BranchStore::stop_writers).
  [[nodiscard]] std::shared_ptr<void> stop_writers(BranchId branch, Stopped what);
  // For both, the same holds as for drop().
  std::shared_ptr<const Commit> reset(Transaction& transaction, const std::string& branch, const Ref& to, const Lost& lost);
  void rename(Transaction& transaction, const std::string& branch, const std::string& to);
  std::shared_ptr<const Commit> create_tag(Transaction& transaction, const std::string& name, const Ref& from);
  void drop_tag(Transaction& transaction, const std::string& name);
  // Makes the tag, or moves it. Throws NamespaceExists if a branch has the name.
  void put_tag(Transaction& transaction, const std::string& name, CommitNumber of);

  // --- commits of other servers: imported_commit.h
  // Must be repeated before import_commit and commit_imported, each time in a transaction of its own, as prepare_commit before a
  // commit. False: nothing is left to be made.
  bool prepare_import(Transaction& transaction, const std::string& branch, const ImportedCommit& commit);
  // Returns the UUIDs of collections that have no rows in the commit, but whose tree it makes anew, of another kind than the
  // parent's. That happens when writes took each other back.
  std::set<Bytes> made_anew(Transaction& transaction, CommitNumber parent, const ImportedCommit& commit) const;
  // Makes the commit behind the branch's last one, which is its first parent. Throws FailedToParse if it doesn't come to its
  // roots and its id; DuplicateKey if its documents want the same key of a unique index; and OperationFailed if a delta needs a
  // document that was purged here. Then the transaction must not be committed. A commit that is here already, since somebody else
  // has just made it, is returned, and the branch doesn't end at it.
  std::shared_ptr<const Commit> import_commit(Transaction& transaction, const std::string& branch, const ImportedCommit& commit,
                                              const std::function<void()>& interrupted);
  // Does the same for a commit with one parent whose changes were written to the branch before.
  std::shared_ptr<const Commit> commit_imported(Transaction& transaction, const std::string& branch,
                                                const ImportedCommit& commit);

  // Numbers of documents of one collection that aren't committed.
  struct Changes {
    std::string collection;
    int64_t inserted = 0, modified = 0, deleted = 0;
    bool made = false, dropped = false;  // of the collection itself
  };
  std::vector<Changes> changes(Transaction& transaction, const Branch& branch);

  // Returns whether the place has the collection.
  bool has(Transaction& transaction, const Place& place, storage::CollectionId collection);
  bool anybody_has(Transaction& transaction, storage::CollectionId collection);
  // Makes the collection on a branch that doesn't have it; it is empty there. False: the branch has it.
  bool make_collection(Transaction& transaction, const Branch& branch, storage::CollectionId collection);
  // Throws NamespaceExists if the branch has a time series and a collection of one name, which would hide the series.
  void check_series(Transaction& transaction, const Branch& branch);
  // Drops the collection from the branch, with its documents there. False: the branch doesn't have it. Nobody else may write to
  // the collection.
  bool drop_collection(Transaction& transaction, const Branch& branch, storage::CollectionId collection, const Lost& lost);
  // The branch's documents are from now on those that were written on `from`, which began with none and keeps none. Nobody else
  // may write to the collection.
  void take_collection(Transaction& transaction, const Branch& branch, const Branch& from, storage::CollectionId collection,
                       const Lost& lost);
  // Removes a collection for good that nobody has any more; readers of it may go on. Returns its tables.
  std::vector<std::string> remove(storage::CollectionId collection);

  struct Conflict {
    std::string collection;
    bson::Document id;                    // {_id: …}
    std::vector<std::string> paths = {};  // what both sides changed; empty: the document as a whole
    // Set for a conflict of a unique index: two documents want the same key.
    std::string index = {};
    bson::Document key = {}, other = {};  // {email: …}, and {_id: …} of the other document
    size_t bytes() const;                 // memory that it takes
  };
  struct Merge {
    std::shared_ptr<const Commit> commit;  // nullptr: there was nothing new, or there were conflicts
    std::vector<Conflict> conflicts;
    uint64_t touched_by_both = 0;
    bool advanced = false;  // whether the branch of `with` went on
    KeptBytes kept = {};    // what the conflicts take
  };
  struct MergeRequest {
    Branches::MergeKind kind = Branches::MergeKind::merge;
    CommitNumber from = 0;
    // A branch whose last commit is `from`, and which goes on from the merge's commit too.
    std::optional<std::string> with = {};
    Resolver resolve = {};
    std::map<std::string, Resolver> of_collection = {};  // by name: these collections have resolvers of their own
    std::map<std::string, Resolver> of_present = {};     // likewise, if there are such collections and of_collection has none
    std::function<void()> interrupted = {};              // called now and then; may throw
    Hold hold = {};                                      // counts what the merge keeps; lives as long as what it returns
    // The merge that waits on the branch goes on: its decisions count, and its commit ends it.
    bool goes_on = false;
  };
  // It does before a merge what prepare_commit does before a commit. `into` is the branch, or the state where a new branch will
  // begin. If anything is pending there, it makes nothing.
  bool prepare_merge(Transaction& transaction, const Ref& into, const MergeRequest& request);
  // If there are conflicts, the transaction must not be committed. Throws IllegalOperation if anything is pending on the branch,
  // or if another merge waits there.
  Merge merge(Transaction& transaction, const std::string& into, const MergeRequest& request, const CommitInfo& info);

  // Lets the branch go on from a commit that descends from its last one. If there are conflicts of unique indexes, the
  // transaction must not be committed. Throws IllegalOperation if anything is pending on the branch, or if a merge waits there.
  Merge advance(Transaction& transaction, const std::string& branch, CommitNumber to, const std::function<void()>& interrupted);

  // --- stashes: stashes.cpp
  // A stash is a commit that no branch shows, whose parent is the last commit of the branch that it was made on.
  struct Stash {
    uint64_t number = 0;  // no other stash of the database has it, as long as there is this one
    std::string branch;   // as it was called then
    CommitNumber commit = 0;
  };
  // Puts aside what is pending on the branch, which shows its last commit from then on. nullopt: nothing is pending. Nobody else
  // may write to the branch. prepare_commit comes before it, as before a commit.
  std::optional<Stash> stash(Transaction& transaction, const std::string& branch, const CommitInfo& info, const Lost& lost);
  std::vector<Stash> stashes(Transaction& transaction) const;  // the newest first
  // Throws NamespaceNotFound if there is no stash of the number.
  void drop_stash(Transaction& transaction, uint64_t number);

  // A Planned says what a pick would change on the branch as it is now, with its pending writes.
  struct Planned {
    std::map<storage::CollectionId, MergePlan> plans;  // of collections whose documents change
    // Collections that the pick makes because the branch lacks them, and those that it drops because the branch still has them.
    std::vector<storage::CollectionId> made = {}, dropped = {};
    std::vector<Conflict> conflicts = {};
    uint64_t touched_by_both = 0;
    KeptBytes kept = {};  // what the conflicts take; the plans count themselves
  };
  Planned plan_pick(Transaction& transaction, const Branch& branch, const MergeRequest& request);

  // Returns the rules that commits must fulfil (server/write/commit_check.h). Empty: there are none.
  bson::Document commit_validators(Transaction& transaction) const;
  void set_commit_validators(Transaction& transaction, const bson::Document& validators);

  // A merge that stops at conflicts waits on the branch, which can be used meanwhile. begin_merge throws IllegalOperation if
  // another merge waits there, abort_merge if none does.
  void begin_merge(Transaction& transaction, const Branch& branch, const OpenMerge& merge);
  std::optional<OpenMerge> open_merge(Transaction& transaction, const Branch& branch) const {
    return open_merges_.find(transaction, branch.id);
  }
  void abort_merge(Transaction& transaction, const Branch& branch);
  // A document on the three sides of the merge that waits on the branch.
  struct MergeSides {
    storage::CollectionId collection = 0;
    Bytes key;
    std::optional<Bytes> base, ours, theirs;
    Sides view() const;
  };
  // nullopt: there is no such collection.
  std::optional<MergeSides> merge_sides(Transaction& transaction, const Branch& branch, Branches::MergeKind kind,
                                        CommitNumber from, std::string_view collection, BytesView key);
  void decide(Transaction& transaction, const Branch& branch, const MergeSides& sides, const Decision& decision);
  struct Decided {
    std::string collection;
    Bytes key;
  };
  // Returns which documents were decided, by collection and key.
  std::vector<Decided> decided(Transaction& transaction, const Branch& branch) const;
  std::optional<Decision> decision(Transaction& transaction, const Branch& branch, const MergeSides& sides) const {
    return open_merges_.decision(transaction, branch.id, sides.collection, sides.key);
  }

  RetentionPolicy retention(Transaction& transaction) const { return branches_.graph().policy(transaction); }
  void set_retention(Transaction& transaction, const RetentionPolicy& policy);
  // Drops some of the commits that retention lets go (Branches::sweep), with the index entries of what they alone showed.
  Branches::Swept sweep(Transaction& transaction, const Retention& retention, size_t commits_max, const Lost& lost);
  // After sweeps: removes some of the nodes of trees that only dropped commits had (Branches::free_nodes).
  uint64_t free_nodes(Transaction& transaction, const std::function<void()>& interrupted);
  // Proves what the commit's id says of a document: see versions/branch/commit_proof.h.
  CommitProof prove(Transaction& transaction, CommitNumber commit, std::string_view collection, const bson::ValueView& id);
  // Checks whether the commit is what its id says: see versions/branch/verification.h. `deep` also checks whether the states show
  // what no tree names.
  struct Verified : Verification {
    std::vector<std::string> names;  // of the collections
  };
  Verified verify(Transaction& transaction, CommitNumber commit, bool deep, size_t damage_max,
                  const std::function<void()>& interrupted);
  // Removes every version of a document from all branches, commits and declared snapshots, and returns their number.
  uint64_t purge(Transaction& transaction, std::string_view collection, const bson::ValueView& id, const Lost& lost);

  // Returns what validate's repair needs; nullptr: there is no such collection. Nobody else may use the collection meanwhile. The
  // repair searches `log` for what branches wrote; nullptr: there is none.
  std::unique_ptr<storage::VersionRepair> version_repair(storage::Engine& engine, storage::CollectionId collection,
                                                         storage::EntryLog* log);
  // Returns what reads a collection across branches; nullptr: there is no such collection. It is valid as long as somebody holds
  // the collection, too.
  std::shared_ptr<SharedCollection> versions_of(storage::CollectionId collection) const;

  // Replays a change that another member logged. Throws DataCorruptionDetected if it doesn't fit what is here.
  void replay(Transaction& transaction, const storage::BranchChange& change, const Lost& lost);

  // Called after the database was dropped: it waits for those who work in the database, and refuses those who come later.
  void close();
  // Called after the drop of a branch, or of the database, was committed: nobody reads or writes it any more.
  void forget_views(const std::string& branch) { views_.drop(branch); }
  void forget_all_views() { views_.clear(); }

  std::vector<std::string> table_names() const;

 private:
  class Replay;  // branch_replay.cpp
  class Import;  // branch_import.cpp

  // Keeps the list of collections as it is. Throws NamespaceNotFound if the database was dropped.
  class SCOPED_CAPABILITY InUse {
   public:
    explicit InUse(const BranchedDatabase& database) ACQUIRE_SHARED(database.mutex_);
    ~InUse() RELEASE() {}
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;

   private:
    const base::ReaderLock lock_;
  };

  // Adds the kinds of trees that the collections' options name. They are logged, because a member that replays the commit may
  // have other options by then.
  CommitInfo with_trees(CommitInfo info) const;
  bool is_pending(Transaction& transaction, BranchId branch) const REQUIRES_SHARED(mutex_);
  void make_tree_part(Transaction& transaction, const Branches::TreePart& part) REQUIRES_SHARED(mutex_);
  // The place of a collection. Throws NamespaceNotFound.
  size_t collection_at(std::string_view name) const REQUIRES_SHARED(mutex_);
  size_t collection_at(storage::CollectionId id) const REQUIRES_SHARED(mutex_);
  size_t place_of_uuid(BytesView uuid) const REQUIRES_SHARED(mutex_);  // likewise
  std::shared_ptr<const Commit> imported(Transaction& transaction, const ImportedCommit& commit) const;
  void check_kept(Transaction& transaction, const Ref& ref, CommitNumber commit) const;
  void check_unique(Transaction& transaction, CommitNumber commit, const Branch& near);
  // Removes what belongs to a content that nobody stores any more, before it goes.
  void lose(Transaction& transaction, SharedCollection& shared, RecordId record, Stamp generation, BytesView content,
            const Lost& lost);
  static std::string collection_name(const SharedCollection& shared);
  // The database's name under which it is what the branch shows.
  std::string name_of(std::string_view branch) const;
  Branch create(Transaction& transaction, const std::string& name, const Place& from);
  std::shared_ptr<const Commit> commit(Transaction& transaction, const std::string& branch, const CommitInfo& info,
                                       const std::set<size_t>& only, std::optional<Held> held) REQUIRES_SHARED(mutex_);
  std::shared_ptr<const Commit> reset(Transaction& transaction, const std::string& branch, CommitNumber to, const Lost& lost);
  std::shared_ptr<const Commit> create_tag(Transaction& transaction, const std::string& name, CommitNumber of);
  void end_merge(Transaction& transaction, const Branch& branch);
  void check_one_of_each_name(Transaction& transaction, const Branch& branch) REQUIRES_SHARED(mutex_);
  void index_advanced(Transaction& transaction, const Branch& before, const std::function<void()>& interrupted, Merge& merge)
      REQUIRES_SHARED(mutex_);
  Branches::Lost losing(Transaction& transaction, const Lost& lost) REQUIRES_SHARED(mutex_);
  // branch_log.cpp has the following. `entry` is one of versions/log, encoded.
  void append_to_log(Transaction& transaction, const bson::Document& entry) const;
  Hash commit_id(Transaction& transaction, CommitNumber commit) const;
  Bytes uuid_of(size_t collection) const REQUIRES_SHARED(mutex_) { return in_order_[collection]->base.uuid_bytes(); }
  void log_documents(Transaction& transaction, const std::string& into, const std::map<size_t, BranchStore::Adoption>& adoptions)
      REQUIRES_SHARED(mutex_);
  void log_difference(Transaction& transaction, const Branch& before, CommitNumber now) REQUIRES_SHARED(mutex_);
  void log_advance(Transaction& transaction, const std::string& branch, CommitNumber to) const;
  void log_merge(Transaction& transaction, const std::string& into, CommitNumber theirs, const Commit& commit,
                 const CommitInfo& info, Stamp generation, const MergedElsewhere* imported = nullptr) const
      REQUIRES_SHARED(mutex_);
  void log_sweep(Transaction& transaction, const Branches::Swept& swept) const;
  void index_merged(Transaction& transaction, SharedCollection& shared, const Branch& before, const Branch& after,
                    Stamp generation, const std::function<void()>& interrupted, Merge& merge);
  void check_no_merge(Transaction& transaction, const Branch& branch) const;
  std::vector<CommitNumber> held_by_stashes(Transaction& transaction) const;
  MergeTerms terms_of(Transaction& transaction, const Branch& into, const MergeRequest& request) const REQUIRES_SHARED(mutex_);
  bool is_now(const Branch& branch) const;  // whatever transactions show that began before
  void check_free(Transaction& transaction, const std::string& name) const;
  void lose_pending(Transaction& transaction, const Branch& branch, SharedCollection& shared, const Lost& lost);
  bool drop_at(Transaction& transaction, const Branch& branch, size_t collection, const Lost& lost) REQUIRES_SHARED(mutex_);

  // A collection. Whoever has a view of a removed one can go on with it.
  struct Versions {
    Versions(VersionGraph& graph, BranchStore& its_store, storage::StoredCollection& base, int64_t holes,
             std::unique_ptr<CollectionPast> its_past)
        : past(std::move(its_past)), shared(graph, its_store, base, holes) {}
    const std::unique_ptr<CollectionPast> past;
    std::unique_ptr<BranchStore> store;  // after the collection was removed; until then branches_ has it
    SharedCollection shared;
  };
  static std::shared_ptr<SharedCollection> shared_of(const std::shared_ptr<Versions>& versions);

  storage::Store& store_;
  storage::BranchLog* const log_;  // nullptr: there is no log
  const std::string name_;
  const uint32_t number_;
  past::Past& past_;
  Branches branches_;
  BranchesPast branches_past_;
  OpenMerges open_merges_;
  base::InterruptibleMutex indexes_;
  base::InterruptibleMutex unnamed_;
  mutable base::SharedMutex mutex_;  // protects the list of collections, here and in branches_
  bool closed_ GUARDED_BY(mutex_) = false;
  std::map<storage::CollectionId, std::shared_ptr<Versions>> collections_ GUARDED_BY(mutex_);
  std::vector<SharedCollection*> in_order_ GUARDED_BY(mutex_);  // in the order of branches_
  KnownViews views_;
};

}  // namespace versions
