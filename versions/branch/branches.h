// Branches are the branches of one database: its version graph, and a BranchStore for each collection.
//
//   Branches branches(engine, 1, Layout::hybrid, {{uuid, parts}});
//   branches.begin(transaction, {newest}, info);                 // once: makes "main" with what is there
//   branches.create(transaction, "dev", "main");
//   View dev = branches.view(transaction, "dev", 0);
//   branches.store(0).insert(transaction, dev, document, stamp);
//   branches.commit(transaction, "dev", info);
//   branches.merge(transaction, "main", branches.head("dev"), …);
//
// Everything happens in the caller's transaction, and so is atomic, durable and repeatable as that transaction is.
#pragma once

#include <set>

#include "versions/branch/merge.h"
#include "versions/branch/roots.h"
#include "versions/branch/version_graph.h"

namespace versions {

// A Graft is a commit of another server that isn't made on its parents' documents: its branch only had the documents with which
// the other server compared the commit.
struct Graft {
  std::vector<Hash> parents = {};       // those that aren't here become absent (VersionGraph)
  std::vector<Bytes> collections = {};  // by label: all that the commit has, in the order of its statement
  bool says_nothing = false;            // its id says nothing of documents, as that of a database's first commit
  bool operator==(const Graft&) const = default;
};

struct CommitInfo {
  int64_t time_ms = 0;
  Bytes metadata = {};
  std::map<Bytes, TreeKind> trees = {};  // by label: the collections that don't have the default tree (POS-Tree)
  std::optional<Graft> graft = {};
};

// MergeTerms say how each collection is merged. The maps go by the collections' places.
struct MergeTerms {
  MergeTerms(Resolver resolver) : resolve(std::move(resolver)) {}

  Resolver resolve;
  std::map<size_t, Resolver> of_collection = {};  // these collections have terms of their own
  std::map<size_t, Decisions> decided = {};
  std::function<void()> interrupted = {};  // called now and then while the merge is planned and written; may throw
  Hold hold = {};                          // counts what the merge keeps until it is written
  KeptBytes kept = {};                     // what the decisions take

  // Refers to `decided`.
  CollectionTerms of(size_t collection) const;
};

struct Merged {
  std::shared_ptr<const Commit> commit;  // nullptr: there were conflicts, or nothing was new
  struct Conflict : MergePlan::Conflict {
    size_t collection = 0;
  };
  std::vector<Conflict> conflicts;  // if there are any, nothing was written
  uint64_t touched_by_both = 0;
  uint64_t changed_bytes = 0;
  // The following are set if there is a commit.
  CommitNumber theirs = 0;                                 // the commit that the changes were taken from
  std::map<size_t, BranchStore::Adoption> adoptions = {};  // the changes, by collection
  Stamp generation = 0;  // the generation of the documents that the merge wrote; no other write has it
  KeptBytes kept = {};   // what the conflicts, or the adoptions, take
};

// A merge that was decided on another member.
struct MergedElsewhere {
  CommitNumber theirs = 0;
  bool has_two_parents = true;
  std::map<size_t, BranchStore::Adoption> adoptions = {};
  std::vector<std::pair<Bytes, Hash>> roots = {};  // by label: the roots of all collections that the merge's commit has
  // The commit is another server's. What was purged there or here has no part in its trees: they change by the adoptions, and by
  // what is `named`, the documents that trees name though nobody has them.
  bool imported = false;
  std::map<size_t, std::vector<DocumentHash>> named = {};
};

// Thread-safe; transactions are not. Unknown names throw BadValue. BranchStore says what stops a branch's writers.
class Branches {
 public:
  struct Collection {
    Bytes label;  // the collection's name on every machine: its UUID
    StoreParts parts;
  };
  // Must not be called inside a transaction. `database`: see VersionGraph. `nodes`: see Roots; nullptr: it has a cache of its
  // own.
  Branches(storage::Engine& engine, uint32_t database, Layout layout, std::vector<Collection> collections,
           std::shared_ptr<merkle::NodeCache> nodes = nullptr);

  VersionGraph& graph() { return graph_; }
  const VersionGraph& graph() const { return graph_; }
  size_t collections() const { return stores_.size(); }
  BranchStore& store(size_t collection) { return *stores_[collection]; }
  const Collection& collection(size_t collection) const { return collections_[collection]; }

  // Adds a collection, of which no state has anything so far. Nobody else may use the others meanwhile. Must not be called inside
  // a transaction.
  void add(Collection collection);

  // Makes the first commit and "main", which ends at it. The commit has every collection up to its newest record. It reads none
  // of the records, so its id says nothing of documents; the ids of all later commits do.
  std::shared_ptr<const Commit> begin(Transaction& transaction, const std::vector<RecordId>& newest, const CommitInfo& info);

  // Makes a branch from another branch's last commit. What is pending there stays there alone. Throws NamespaceExists.
  Branch create(Transaction& transaction, const std::string& name, const std::string& from);
  Branch create(Transaction& transaction, const std::string& name, CommitNumber from);
  // Removes a branch and what is pending on it. Its commits stay.
  void drop(Transaction& transaction, const std::string& name);
  // Removes what is pending, and lets the branch go on from that commit.
  void reset(Transaction& transaction, const std::string& name, CommitNumber to);

  Branch head(Transaction& transaction, const std::string& name) const;
  View view(Transaction& transaction, const Branch& branch, size_t collection) const;
  // A read-only view. Throws BadValue for a commit that was dropped.
  View view(Transaction& transaction, CommitNumber commit, size_t collection) const;

  // Commits all collections, or those at these places; what is pending in others stays pending. nullptr: nothing was pending, and
  // the last commit's id says all there is to say. `held` restricts the commit to these of the pending writes, and afterwards
  // contains what the commit holds. Collections that change get trees of the kinds in `info`, and so do collections whose
  // documents no id has named yet.
  std::shared_ptr<const Commit> commit(Transaction& transaction, const std::string& branch, const CommitInfo& info,
                                       const std::set<size_t>& only = {}, std::optional<Held>* held = nullptr);

  // A squash takes all that a merge would take, as a commit with one parent.
  enum class MergeKind : uint8_t { merge, cherry_pick, revert, squash };

  // A part of a tree that the branch's next commit begins with, because the last commit's id doesn't name that tree. It is the
  // tree of a first commit's documents, or an existing tree made into one of another kind. It has at most `documents_max`
  // documents, so that no transaction writes the whole tree of a large collection.
  struct TreePart {
    CommitNumber commit = 0;
    size_t collection = 0;
    TreeKind kind = {};
    size_t documents_max = 1 << 18;  // takes some 25 MB in memory
  };
  // The part that must be made next; nullopt: there is none.
  std::optional<TreePart> next_part(Transaction& transaction, const std::string& branch, const CommitInfo& info);
  // False: it was the last part of this tree.
  bool make_part(Transaction& transaction, const TreePart& part);
  // The same for the commit that `apply` would make on `into`: the parts of its tree, and of the trees whose difference it takes.
  std::optional<TreePart> next_part(Transaction& transaction, MergeKind kind, CommitNumber into, CommitNumber from,
                                    const CommitInfo& info);

  // The same for a commit that is imported behind `parent`, and changes these collections.
  std::optional<TreePart> next_part(Transaction& transaction, CommitNumber parent, const std::set<size_t>& changed,
                                    const CommitInfo& info);

  // The root of the tree of all documents that the commit showed when it was made. If the commit's id doesn't name one, it is the
  // root of a tree that was made of these documents. If there is no such tree, this makes one of `kind`, and reads all documents.
  Hash root(Transaction& transaction, CommitNumber commit, size_t collection, const TreeKind& kind = {});
  const Roots& roots() const { return roots_; }
  // The same, but nullopt if there is no such tree. The commit must have the collection.
  std::optional<Hash> root_known(Transaction& transaction, const Commit& commit, const CollectionState& state) const;
  // Returns at most so many documents that the state shows, of records behind `before` in their order, and the last of the
  // records. If there are fewer, it was the end.
  struct SomeDocuments {
    std::vector<DocumentHash> documents = {};
    storage::RecordId last = 0;
  };
  SomeDocuments some_documents(Transaction& transaction, State state, size_t collection, storage::RecordId before,
                               size_t documents_max);

  // A merge, pick or revert applies to a branch what changed between two commits, from `base` to `theirs`.
  struct Change {
    CommitNumber base = 0, theirs = 0;
    bool has_two_parents = false;
  };
  // Throws IllegalOperation for a pick or revert of the first commit.
  Change change(Transaction& transaction, MergeKind kind, CommitNumber into, CommitNumber from) const;
  // Applies a change to a branch, as merge, cherry_pick or revert do, by `kind`.
  Merged apply(Transaction& transaction, MergeKind kind, const std::string& into, CommitNumber from, const MergeTerms& terms,
               const CommitInfo& info);
  // Merges into the branch, which gets a commit with two parents. Throws IllegalOperation if anything is pending there.
  Merged merge(Transaction& transaction, const std::string& into, CommitNumber from, const MergeTerms& terms,
               const CommitInfo& info) {
    return apply(transaction, MergeKind::merge, into, from, terms, info);
  }
  // Applies what one commit changed against its first parent, or takes it back, as a commit with one parent. There is no commit
  // if the branch has it so already. Both throw IllegalOperation for the first commit, which changed nothing.
  Merged cherry_pick(Transaction& transaction, const std::string& into, CommitNumber commit, const MergeTerms& terms,
                     const CommitInfo& info) {
    return apply(transaction, MergeKind::cherry_pick, into, commit, terms, info);
  }
  Merged revert(Transaction& transaction, const std::string& on, CommitNumber commit, const MergeTerms& terms,
                const CommitInfo& info) {
    return apply(transaction, MergeKind::revert, on, commit, terms, info);
  }
  // Replays a merge, pick or revert that was made elsewhere. What is pending stays pending.
  std::shared_ptr<const Commit> replay_merge(Transaction& transaction, const std::string& into, const MergedElsewhere& merged,
                                             const CommitInfo& info, Stamp generation);

  // Returns whether the branch, or the commit, has the collection.
  bool has(Transaction& transaction, const Branch& branch, size_t collection);
  bool has(Transaction& transaction, CommitNumber commit, size_t collection) const;
  // Returns whether a branch has the collection, or a commit that wasn't dropped.
  bool anybody_has(Transaction& transaction, size_t collection);
  // The branch has the collection from now on, with what it shows of it.
  void make_collection(Transaction& transaction, const Branch& branch, size_t collection, Stamp stamp);
  // The branch has nothing of the collection any more. Nobody else may write to the collection meanwhile; commits of the branch
  // conflict.
  void drop_collection(Transaction& transaction, const Branch& branch, size_t collection, Stamp stamp);
  // Drops the collection from the branch, which from then on shows what is pending of it on `from`.
  void take_collection(Transaction& transaction, const Branch& branch, const Branch& from, size_t collection, Stamp stamp);
  // Removes the collection from the list. Readers of it may go on holding the store.
  std::unique_ptr<BranchStore> remove(size_t collection);

  // Lets the branch go on from a commit that descends from its last one, as a merge of the branch into another one does. Throws
  // IllegalOperation if anything is pending there. Another transaction that touches a document which this changes conflicts.
  void advance(Transaction& transaction, const std::string& name, CommitNumber to);
  // Replays an advance that was made elsewhere. What is pending stays pending.
  void replay_advance(Transaction& transaction, const std::string& name, CommitNumber to);

  // Called for each content that is no longer stored, before it goes.
  using Lost = std::function<void(size_t collection, RecordId, Stamp generation, BytesView content)>;
  struct Swept {
    size_t commits = 0;
    uint64_t records = 0;
    std::vector<CommitNumber> dropped = {};
  };
  // Drops some of the commits that retention lets go, the oldest first, and frees what they alone showed. The caller repeats it,
  // each time in a transaction of its own, until no commit goes; others may read and write meanwhile. Another transaction that
  // begins to use one of these commits at the same time conflicts. The commits `held` stay, as tagged ones do.
  Swept sweep(Transaction& transaction, const Retention& retention, size_t commits_max, const Lost& lost,
              const std::vector<CommitNumber>& held = {});
  // Replays a sweep: drops the commits that another member dropped.
  Swept replay_sweep(Transaction& transaction, std::vector<CommitNumber> commits, const Lost& lost);
  // Removes some of the nodes of trees that only dropped commits had, and returns their number. The caller repeats it until that
  // is 0. It walks over all trees.
  uint64_t free_nodes(Transaction& transaction, const std::function<void()>& interrupted);
  // Removes a document from all history, branches included, and returns the number of its versions. Commits keep their ids and
  // their trees, which name the document and its hash. The document leaves the collection's tree with the next commit that
  // changes the collection. A commit on any branch at the same time conflicts.
  uint64_t purge(Transaction& transaction, size_t collection, BytesView key, const Lost& lost);

 private:
  View state_view(Transaction& transaction, CommitNumber commit, size_t collection) const;
  Branch add(Transaction& transaction, const std::string& name, CommitNumber from);
  std::shared_ptr<const Commit> put(Transaction& transaction, Branch& branch, Commit commit, const CommitInfo& info);
  void put_graft(Transaction& transaction, Commit& commit, const CommitInfo& info);
  std::vector<CollectionState> states(Transaction& transaction, CommitNumber commit, const CommitInfo& info);
  const CollectionState* state_of(const Commit& commit, size_t collection) const {
    return commit.state_of(collections_[collection].parts.collection);
  }
  TreeKind tree_kind(const CommitInfo& info, size_t collection) const;
  // The root that commits behind this one begin with: the one that its id names, unless a repair left another one of its kind
  // beside it, because it is damaged. nullopt: the id names none.
  std::optional<Hash> root_to_go_on(Transaction& transaction, const Commit& commit, const CollectionState& state) const;
  // The root to go on, or of the tree that was made for the commit.
  std::optional<Hash> root_there(Transaction& transaction, CommitNumber commit, size_t collection, const TreeKind& kind);
  Hash root_as(Transaction& transaction, CommitNumber commit, size_t collection, const TreeKind& kind);
  // The root that the next commit names for the collection, if it doesn't change it (root_kept) and if it does (root_changed).
  // `commit` has the collection.
  Hash root_kept(Transaction& transaction, CommitNumber commit, size_t collection, const CommitInfo& info);
  Hash root_changed(Transaction& transaction, CommitNumber commit, const CollectionState& state, size_t collection,
                    const CommitInfo& info);
  // nullptr: the collection isn't among them.
  CollectionState* find(std::vector<CollectionState>& states, size_t collection) const;
  // `known`: the number of states that the commit before had.
  CollectionState& find_or_add(Transaction& transaction, std::vector<CollectionState>& states, size_t known, size_t collection,
                               const CommitInfo& info) const;
  // Returns whether a merge's commit has the collection. If one side alone has made or dropped it, that side counts; and a
  // collection that has documents is there.
  bool has_merged(Transaction& transaction, const Change& change, CommitNumber ours, size_t collection, State merged);
  static void erase(std::vector<CollectionState>& states, const std::vector<storage::CollectionId>& dropped);
  Merged apply_change(Transaction& transaction, Branch branch, const Change& change, const MergeTerms& terms,
                      const CommitInfo& info);
  Swept sweep(Transaction& transaction, const Graph& graph, std::vector<CommitNumber> goes, const Lost& lost);
  void check_committed(Transaction& transaction, const Branch& branch) const;
  CommitNumber first_parent(Transaction& transaction, CommitNumber commit) const;
  bool segment_a_branch() const { return layout_ == Layout::hybrid || layout_ == Layout::version_first; }

  // Adds the documents that the old state's tree names and the new state no longer shows.
  void add_purged(Transaction& transaction, size_t collection, State before, State after, std::vector<DocumentHash>& changes);
  // The changes of the branch's tree: by a merge that was planned here, and by one that was decided elsewhere.
  std::vector<DocumentHash> merge_changes(Transaction& transaction, size_t collection, const Change& change, const TreeKind& kind,
                                          MergePlan& plan);
  std::vector<DocumentHash> changes_of(Transaction& transaction, size_t collection, const BranchStore::Adoption& adoption);
  BranchStore::Named named_changes(Transaction& transaction, size_t collection, State before, const MergedElsewhere& merged,
                                   const BranchStore::Adoption& adoption);
  void write_adoption(Transaction& transaction, const Branch& branch, size_t collection, CollectionState& state,
                      CommitNumber commit, const BranchStore::Adoption& adoption, const BranchStore::Named& named,
                      std::vector<DocumentHash> changes, bool leaves_out_purged, Stamp generation,
                      const std::function<void()>& interrupted);

  VersionGraph graph_;
  Roots roots_;
  Layout layout_;
  std::vector<Collection> collections_;
  std::vector<std::unique_ptr<BranchStore>> stores_;
};

}  // namespace versions
