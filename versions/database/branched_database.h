// A database with branches: its collections in versions, and the names of states.
//
// A name is one collection, with its indexes, for all branches. Each branch, and each commit, has it or has it not: it is made on
// a branch and dropped there as its documents are written there. What has it not shows it empty.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <shared_mutex>

#include "storage/collections/branch_changes.h"
#include "versions/branch/commit_proof.h"
#include "versions/branch/verification.h"
#include "versions/database/branches_past.h"
#include "versions/database/known_views.h"
#include "versions/database/open_merges.h"
#include "versions/database/refs.h"

namespace storage {
class Store;
}

namespace storage {
class VersionEntries;
}

namespace versions {

// What a ref names.
struct Place {
  std::optional<Branch> branch;  // nullopt: a state that can't be written to
  CommitNumber commit = 0;       // the branch's last, or that state
};

// Thread-safe; transactions are not. Names that aren't known throw NamespaceNotFound. What changes a branch or its commits tells
// the log, in the same transaction, all that others need to make it again.
class BranchedDatabase : public std::enable_shared_from_this<BranchedDatabase> {
 public:
  static constexpr std::string_view main = "main";

  // `number`: no other database has or had it. Opens or makes tables: not inside a transaction.
  // `nodes`: see Roots.
  BranchedDatabase(past::Past& past, storage::BranchLog* log, std::string name, uint32_t number,
                   std::shared_ptr<merkle::NodeCache> nodes);
  ~BranchedDatabase();

  const std::string& name() const { return name_; }
  uint32_t number() const { return number_; }
  Branches& branches() { return branches_; }

  // The collection's versions from now on; it must be shared (share()) before anyone writes to it. Nobody else may use it. Not
  // inside a transaction.
  void add(storage::StoredCollection& collection, int64_t holes);
  // Its documents so far are what every branch begins with. Once for all collections that were added.
  void begin(Transaction& transaction, const CommitInfo& info);
  void share(storage::StoredCollection& collection);

  Place place(Transaction& transaction, const Ref& ref) const;
  // The view of a collection that this name stands for, with everything behind the `@`.
  std::shared_ptr<CollectionView> view(Transaction& transaction, const Ref& ref, const std::string& ns,
                                       std::shared_ptr<storage::StoredCollection> base);
  // One that was asked for before, where it is the same at any time.
  std::shared_ptr<CollectionView> known_view(std::string_view ns) const { return views_.find(ns); }

  // Held around each transaction that commits, merges, makes a branch, or sweeps or purges, from before it begins: the database's
  // indexes are the same to its end.
  [[nodiscard]] std::shared_lock<std::shared_mutex> keep_indexes() { return std::shared_lock(indexes_); }
  // Held while they change, together with the schema lock of the collection.
  [[nodiscard]] std::unique_lock<std::shared_mutex> change_indexes() { return std::unique_lock(indexes_); }
  // As storage::ViewSource's.
  void check_unique(storage::CollectionId collection, const storage::StoredIndexes& built, std::string_view ns,
                    const std::function<void()>& interrupted);
  // Those that it has now, or, where it was dropped, had to its end and that weren't removed.
  std::vector<storage::CollectionId> collections() const;
  // A branch as a declared snapshot shows it; nullopt: it wasn't there. This and the next one also when the database was dropped.
  std::optional<Branch> branch_then(Transaction& transaction, const std::string& name, Stamp snapshot) const;
  // And of a collection's records those that it showed; nullptr: no such collection.
  std::shared_ptr<past::ShownRecords> shown_then(storage::CollectionId collection, const Branch& branch, Stamp snapshot);

  // Told of each content that is stored no longer, before it goes.
  using Lost = std::function<void(Transaction&, storage::CollectionId, RecordId, Stamp generation, BytesView content)>;

  // Throws DuplicateKey where that is a commit from before a unique index, and shows two documents under one of its keys; so does
  // reset.
  Branch create(Transaction& transaction, const std::string& name, const Ref& from);
  // From there on too, with no collection at all, and so at odds with no index.
  Branch create_empty(Transaction& transaction, const std::string& name, const Ref& from);
  // Nobody else may write to the branch. Throws IllegalOperation for main.
  void drop(Transaction& transaction, const std::string& name, const Lost& lost);
  bool has_pending(Transaction& transaction, BranchId branch);
  // By name; throws BadValue for what is no branch.
  Branch branch(Transaction& transaction, const Ref& ref) const;
  // Before a commit of what may be large: makes a part of a tree that it begins with, which stays if there is no commit then.
  // False: nothing is left to be made. To be called again, each time in a transaction of its own.
  bool prepare_commit(Transaction& transaction, const std::string& branch);
  // Of all collections, or of these alone. nullptr: nothing was written since the last one, whose id says all there is to say.
  std::shared_ptr<const Commit> commit(Transaction& transaction, const std::string& branch, const CommitInfo& info,
                                       const std::vector<std::string>& collections = {});
  // Until the last share goes, who writes to the branch conflicts (BranchStore::stop_writers).
  [[nodiscard]] std::shared_ptr<void> stop_writers(BranchId branch, Stopped what);
  // Both as with drop.
  std::shared_ptr<const Commit> reset(Transaction& transaction, const std::string& branch, const Ref& to, const Lost& lost);
  void rename(Transaction& transaction, const std::string& branch, const std::string& to);
  std::shared_ptr<const Commit> create_tag(Transaction& transaction, const std::string& name, const Ref& from);
  void drop_tag(Transaction& transaction, const std::string& name);

  // What is not committed, of collections that have such: numbers of documents.
  struct Changes {
    std::string collection;
    int64_t inserted = 0, modified = 0, deleted = 0;
    bool made = false, dropped = false;  // the collection itself
  };
  std::vector<Changes> changes(Transaction& transaction, const Branch& branch);

  // Whether the place has the collection.
  bool has(Transaction& transaction, const Place& place, storage::CollectionId collection);
  bool anybody_has(Transaction& transaction, storage::CollectionId collection);
  // Empty, on a branch that has it not. False: it has.
  bool make_collection(Transaction& transaction, const Branch& branch, storage::CollectionId collection);
  // With its documents there. False: the branch hasn't got it. Nobody else may write to the collection.
  bool drop_collection(Transaction& transaction, const Branch& branch, storage::CollectionId collection, const Lost& lost);
  // The branch's documents are those that were written on `from`, which began with none, and keeps none. Nobody else may write to
  // the collection.
  void take_collection(Transaction& transaction, const Branch& branch, const Branch& from, storage::CollectionId collection,
                       const Lost& lost);
  // Nobody has it, and it goes for good; who reads it still may. Returns its tables.
  std::vector<std::string> remove(storage::CollectionId collection);

  struct Conflict {
    std::string collection;
    bson::Document id;                    // {_id: …}
    std::vector<std::string> paths = {};  // what both sides changed; none: the document as a whole
    // Of a unique index: two documents want the same key.
    std::string index = {};
    bson::Document key = {}, other = {};  // {email: …}; the other one's {_id: …}
  };
  struct Merge {
    std::shared_ptr<const Commit> commit;  // nullptr: there was nothing new, or conflicts
    std::vector<Conflict> conflicts;
    uint64_t touched_by_both = 0;
    bool advanced = false;  // the branch of `with`
  };
  struct MergeRequest {
    Branches::Bring kind = Branches::Bring::merge;
    CommitNumber from = 0;
    // A branch whose last commit that is, and which goes on from the merge's commit too.
    std::optional<std::string> with = {};
    Resolver resolve = {};
    std::map<std::string, Resolver> of_collection = {};  // by name, instead of it
    std::function<void()> interrupted = {};              // asked now and then; may throw
    // It goes on with the merge that is under way on the branch, and ends that with its commit: what was decided there counts.
    bool goes_on = false;
  };
  // Before a merge, as `prepare_commit` is before a commit; `into`: the branch, or where it will begin. Where something is
  // pending nothing is made.
  bool prepare_merge(Transaction& transaction, const Ref& into, const MergeRequest& request);
  // Where there are conflicts the transaction must not be committed. Throws IllegalOperation where something is pending on the
  // branch, or another merge is under way there.
  Merge merge(Transaction& transaction, const std::string& into, const MergeRequest& request, const CommitInfo& info);

  // A merge that stops at conflicts waits on the branch, which goes on as it was meanwhile. Throw IllegalOperation where there is
  // another one, or none.
  void begin_merge(Transaction& transaction, const Branch& branch, const OpenMerge& merge);
  std::optional<OpenMerge> open_merge(Transaction& transaction, const Branch& branch) const {
    return open_merges_.find(transaction, branch.id);
  }
  void abort_merge(Transaction& transaction, const Branch& branch);
  // A document on the three sides of the merge that is under way on the branch.
  struct MergeSides {
    storage::CollectionId collection = 0;
    Bytes key;
    std::optional<Bytes> base, ours, theirs;
    Sides view() const;
  };
  // nullopt: no such collection.
  std::optional<MergeSides> merge_sides(Transaction& transaction, const Branch& branch, Branches::Bring kind, CommitNumber from,
                                        std::string_view collection, BytesView key);
  void decide(Transaction& transaction, const Branch& branch, const MergeSides& sides, const Decision& decision);
  std::map<std::string, Decisions> decisions(Transaction& transaction, const Branch& branch) const;  // by collection

  RetentionPolicy retention(Transaction& transaction) const { return branches_.graph().policy(transaction); }
  void set_retention(Transaction& transaction, const RetentionPolicy& policy);
  // Drops some of the commits that need not stay (Branches::sweep), with the index entries of what they alone showed.
  Branches::Swept sweep(Transaction& transaction, const Retention& retention, size_t commits_max, const Lost& lost);
  // Behind sweeps: takes nodes of trees away that only dropped commits had, some at a time (Branches::free_nodes).
  uint64_t free_nodes(Transaction& transaction, const std::function<void()>& interrupted);
  // What the commit's id says of a document: see versions/branch/commit_proof.h.
  CommitProof prove(Transaction& transaction, CommitNumber commit, std::string_view collection, const bson::ValueView& id);
  // Whether the commit is what its id says: see versions/branch/verification.h. Deep, also whether the states show what no tree
  // names.
  struct Verified : Verification {
    std::vector<std::string> names;  // of the collections
  };
  Verified verify(Transaction& transaction, CommitNumber commit, bool deep, size_t damage_max,
                  const std::function<void()>& interrupted);
  // Takes every version of a document away, of all branches, commits and declared snapshots; returns how many there were.
  uint64_t purge(Transaction& transaction, std::string_view collection, const bson::ValueView& id, const Lost& lost);

  // For validate's repair; nullptr: no such collection. Nobody else uses that meanwhile.
  std::unique_ptr<storage::VersionEntries> entries_to_repair(storage::CollectionId collection);
  // To read it across branches; nullptr: no such collection. Good for as long as somebody holds the collection, too.
  std::shared_ptr<SharedCollection> versions_of(storage::CollectionId collection) const;

  // Makes a change again that another member made. Throws DataCorruptionDetected where it doesn't fit what is here.
  void make_again(Transaction& transaction, const storage::BranchChange& change, const Lost& lost);

  // The database was dropped: waits for who is at work in it, and refuses whoever comes.
  void close();
  // After a drop was committed: nobody reads or writes it any more.
  void forget_views(const std::string& branch) { views_.drop(branch); }
  void forget_all_views() { views_.clear(); }

  std::vector<std::string> table_names() const;

 private:
  std::shared_lock<std::shared_mutex> in_use() const;
  // With what the collections' options say of trees. Members of a set are told: who makes the commit again may have other options
  // by then.
  CommitInfo with_trees(CommitInfo info) const;
  bool is_pending(Transaction& transaction, BranchId branch) const;
  void make_tree_part(Transaction& transaction, const Branches::TreePart& part);
  // By name, throws NamespaceNotFound.
  size_t collection_at(std::string_view name) const;
  size_t collection_at(storage::CollectionId id) const;
  void check_kept(Transaction& transaction, const Ref& ref, CommitNumber commit) const;
  void check_unique(Transaction& transaction, CommitNumber commit, const Branch& near);
  // Before a content goes that nobody stores any more: what belongs to it goes too.
  void lose(Transaction& transaction, SharedCollection& shared, RecordId record, Stamp generation, BytesView content,
            const Lost& lost);
  static std::string collection_name(const SharedCollection& shared);
  // The name under which the database is what the branch shows.
  std::string name_of(std::string_view branch) const;
  Branch create(Transaction& transaction, const std::string& name, const Place& from);
  // The list of collections is locked.
  std::shared_ptr<const Commit> commit(Transaction& transaction, const std::string& branch, const CommitInfo& info,
                                       const std::set<size_t>& only, std::optional<Held> held);
  std::shared_ptr<const Commit> reset(Transaction& transaction, const std::string& branch, CommitNumber to, const Lost& lost);
  std::shared_ptr<const Commit> create_tag(Transaction& transaction, const std::string& name, CommitNumber of);
  void merge_again(Transaction& transaction, const storage::BranchChange& change);
  void end_merge(Transaction& transaction, const Branch& branch);
  void index_advanced(Transaction& transaction, const Branch& before, const std::function<void()>& interrupted, Merge& merge);
  Branches::Lost losing(Transaction& transaction, const Lost& lost);
  void tell_sweep(Transaction& transaction, const Branches::Swept& swept) const;
  size_t collection_of_uuid(BytesView uuid) const;
  void tell(Transaction& transaction, bson::Builder& command) const;
  void tell_documents(Transaction& transaction, const std::string& into,
                      const std::map<size_t, BranchStore::Adoption>& adoptions);
  void tell_difference(Transaction& transaction, const Branch& before, CommitNumber now);
  void tell_advance(Transaction& transaction, const std::string& branch, CommitNumber to) const;
  void tell_merge(Transaction& transaction, const std::string& into, CommitNumber theirs, const Commit& commit,
                  const CommitInfo& info, Stamp generation) const;
  void index_merged(Transaction& transaction, SharedCollection& shared, const Branch& before, const Branch& after,
                    Stamp generation, const std::function<void()>& interrupted, Merge& merge);
  void check_no_merge(Transaction& transaction, const Branch& branch) const;
  MergeTerms terms_of(Transaction& transaction, const Branch& into, const MergeRequest& request) const;
  bool is_now(const Branch& branch) const;  // whatever transactions from before show
  void check_free(Transaction& transaction, const std::string& name) const;
  void lose_pending(Transaction& transaction, const Branch& branch, SharedCollection& shared, const Lost& lost);
  bool drop_at(Transaction& transaction, const Branch& branch, size_t collection, const Lost& lost);
  void tell_collection(Transaction& transaction, std::string_view command, const Branch& branch, const SharedCollection& shared,
                       const Branch* from = nullptr) const;

  // A collection. Who has a view of one that was removed goes on with it.
  struct Versions {
    Versions(VersionGraph& graph, BranchStore& its_store, storage::StoredCollection& base, int64_t holes,
             std::unique_ptr<CollectionPast> its_past)
        : past(std::move(its_past)), shared(graph, its_store, base, holes) {}
    const std::unique_ptr<CollectionPast> past;
    std::unique_ptr<BranchStore> store;  // once it was removed; before, branches_ has it
    SharedCollection shared;
  };
  static std::shared_ptr<SharedCollection> shared_of(const std::shared_ptr<Versions>& versions);

  storage::Store& store_;
  storage::BranchLog* const log_;  // nullptr: none
  const std::string name_;
  const uint32_t number_;
  past::Past& past_;
  Branches branches_;
  BranchesPast branches_past_;
  OpenMerges open_merges_;
  std::shared_mutex indexes_;
  mutable std::shared_mutex mutex_;  // of the list of collections, there and in branches_
  bool closed_ = false;
  std::map<storage::CollectionId, std::shared_ptr<Versions>> collections_;
  std::vector<SharedCollection*> in_order_;  // as branches_ has them
  KnownViews views_;
};

}  // namespace versions
