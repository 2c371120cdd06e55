// The branches of one database: its version graph, and a BranchStore a collection.
//
//   Branches branches(engine, 1, Layout::hybrid, {{uuid, parts}});
//   branches.begin(transaction, {newest}, info);                 // once: "main", with what is there
//   branches.create(transaction, "dev", "main");
//   View dev = branches.view(transaction, "dev", 0);
//   branches.store(0).insert(transaction, dev, document, stamp);
//   branches.commit(transaction, "dev", info);
//   branches.merge(transaction, "main", branches.head("dev"), …);
//
// Everything happens in the caller's transaction, and so is atomic, durable and repeatable as that is.
#pragma once

#include <set>

#include "versions/branch/merge.h"
#include "versions/branch/roots.h"
#include "versions/branch/version_graph.h"

namespace versions {

struct CommitInfo {
  int64_t time_ms = 0;
  Bytes metadata = {};
  std::map<Bytes, TreeKind> trees = {};  // by label, of collections whose trees are to be something else than POS-Trees
};

// How the collections are merged, by their places.
struct MergeTerms {
  MergeTerms(Resolver resolver) : resolve(std::move(resolver)) {}

  Resolver resolve;
  std::map<size_t, Resolver> of_collection = {};  // instead of it
  std::map<size_t, Decisions> decided = {};
  std::function<void()> interrupted = {};  // asked now and then while the merge is planned and written; may throw

  CollectionTerms of(size_t collection) const;
};

struct Merged {
  std::shared_ptr<const Commit> commit;  // nullptr: conflicts, or there was nothing new
  struct Conflict : MergePlan::Conflict {
    size_t collection = 0;
  };
  std::vector<Conflict> conflicts;  // where there are any, nothing was written
  uint64_t touched_by_both = 0;
  uint64_t changed_bytes = 0;
  // Of a commit:
  CommitNumber theirs = 0;                                 // where it takes from
  std::map<size_t, BranchStore::Adoption> adoptions = {};  // and what, by collection
  Stamp generation = 0;                                    // of documents that it writes: nobody else has it
};

// A merge that was decided on another member.
struct MergedElsewhere {
  CommitNumber theirs = 0;
  bool has_two_parents = true;
  std::map<size_t, BranchStore::Adoption> adoptions = {};
  std::vector<std::pair<Bytes, Hash>> roots = {};  // by label: of all collections that its commit has
};

// Thread-safe; transactions are not. Unknown names throw BadValue. What stops a branch's writers is said in BranchStore.
class Branches {
 public:
  struct Collection {
    Bytes label;  // its name on every machine: the UUID
    StoreParts parts;
  };
  // Not inside a transaction. `database`: see VersionGraph; `nodes`: see Roots, nullptr: a cache of its own.
  Branches(storage::Engine& engine, uint32_t database, Layout layout, std::vector<Collection> collections,
           std::shared_ptr<merkle::NodeCache> nodes = nullptr);

  VersionGraph& graph() { return graph_; }
  const VersionGraph& graph() const { return graph_; }
  size_t collections() const { return stores_.size(); }
  BranchStore& store(size_t collection) { return *stores_[collection]; }
  const Collection& collection(size_t collection) const { return collections_[collection]; }

  // One more, which all states so far have nothing of. Nobody else may use the others meanwhile; not inside a transaction.
  void add(Collection collection);

  // The first commit, and "main" on it: of each collection everything up to its newest record. Nothing of that is read: its id
  // says nothing of documents, and those of all later commits do.
  std::shared_ptr<const Commit> begin(Transaction& transaction, const std::vector<RecordId>& newest, const CommitInfo& info);

  // From another branch's last commit; what is pending there stays there alone. Throws NamespaceExists.
  Branch create(Transaction& transaction, const std::string& name, const std::string& from);
  Branch create(Transaction& transaction, const std::string& name, CommitNumber from);
  // Its commits stay; what is pending is gone.
  void drop(Transaction& transaction, const std::string& name);
  // What is pending is gone, and the branch goes on from that commit.
  void reset(Transaction& transaction, const std::string& name, CommitNumber to);

  Branch head(Transaction& transaction, const std::string& name) const;
  View view(Transaction& transaction, const Branch& branch, size_t collection) const;
  // Read-only. Throws BadValue for a commit that was dropped.
  View view(Transaction& transaction, CommitNumber commit, size_t collection) const;

  // Of all collections, or of those at these places: what is pending in others stays so. nullptr: nothing was pending, and the
  // last commit's id says all there is to say. `held`: of what is pending these alone; afterwards, what the commit holds. The
  // trees of collections that change are of the kinds in `info` from now on, and so are those of collections that no id has said
  // anything of.
  std::shared_ptr<const Commit> commit(Transaction& transaction, const std::string& branch, const CommitInfo& info,
                                       const std::set<size_t>& only = {}, std::optional<Held>* held = nullptr);

  enum class Bring : uint8_t { merge, cherry_pick, revert };

  // A part of a tree that the branch's next commit begins with, and the last one's id doesn't say: of a first commit's documents,
  // or the tree that it says made into one of another kind. At most so many documents, so that no transaction writes all of a
  // large collection's tree.
  struct TreePart {
    CommitNumber commit = 0;
    size_t collection = 0;
    TreeKind kind = {};
    size_t documents_max = 1 << 18;  // some 25 MB in memory
  };
  // What is to be made next; nullopt: nothing.
  std::optional<TreePart> next_part(Transaction& transaction, const std::string& branch, const CommitInfo& info);
  // False: it was the last one of this tree.
  bool make_part(Transaction& transaction, const TreePart& part);
  // The same of the commit that `bring` would put behind `into`: of its tree, and of those whose difference it takes.
  std::optional<TreePart> next_part(Transaction& transaction, Bring kind, CommitNumber into, CommitNumber from,
                                    const CommitInfo& info);

  // Of the tree of all documents that the commit showed when it was made. Where its id doesn't say it, of one that was made of
  // them; where there is none, one of this kind is made: it reads them all.
  Hash root(Transaction& transaction, CommitNumber commit, size_t collection, const TreeKind& kind = {});
  const Roots& roots() const { return roots_; }

  // What comes to a branch lies between two commits: from `base` to `theirs`.
  struct Change {
    CommitNumber base = 0, theirs = 0;
    bool has_two_parents = false;
  };
  // Throws IllegalOperation for a pick or revert of the first commit.
  Change change(Transaction& transaction, Bring kind, CommitNumber into, CommitNumber from) const;
  // By `kind` one of the three below.
  Merged bring(Transaction& transaction, Bring kind, const std::string& into, CommitNumber from, const MergeTerms& terms,
               const CommitInfo& info);
  // Into the branch, which gets a commit with two parents. Throws IllegalOperation where something is pending there.
  Merged merge(Transaction& transaction, const std::string& into, CommitNumber from, const MergeTerms& terms,
               const CommitInfo& info) {
    return bring(transaction, Bring::merge, into, from, terms, info);
  }
  // The same with what that commit changed against its first parent, or with the opposite of it, as a commit with one parent. No
  // commit where the branch has it so already. Throw IllegalOperation for the first commit, which changed nothing.
  Merged cherry_pick(Transaction& transaction, const std::string& into, CommitNumber commit, const MergeTerms& terms,
                     const CommitInfo& info) {
    return bring(transaction, Bring::cherry_pick, into, commit, terms, info);
  }
  Merged revert(Transaction& transaction, const std::string& on, CommitNumber commit, const MergeTerms& terms,
                const CommitInfo& info) {
    return bring(transaction, Bring::revert, on, commit, terms, info);
  }
  // What one of these, a merge too, made of the branch elsewhere. What is pending stays so.
  std::shared_ptr<const Commit> merge_again(Transaction& transaction, const std::string& into, const MergedElsewhere& merged,
                                            const CommitInfo& info, Stamp generation);

  // Whether the branch has the collection, or the commit.
  bool has(Transaction& transaction, const Branch& branch, size_t collection);
  bool has(Transaction& transaction, CommitNumber commit, size_t collection) const;
  // One branch or none, one commit or none, that wasn't dropped.
  bool anybody_has(Transaction& transaction, size_t collection);
  // On that branch from now on, with what it shows of it.
  void make_collection(Transaction& transaction, const Branch& branch, size_t collection, Stamp stamp);
  // The branch has nothing of it any more. Nobody else may write to the collection meanwhile; commits of the branch conflict.
  void drop_collection(Transaction& transaction, const Branch& branch, size_t collection, Stamp stamp);
  // The same, and what is pending of it on `from`, which the branch shows instead.
  void take_collection(Transaction& transaction, const Branch& branch, const Branch& from, size_t collection, Stamp stamp);
  // It goes from the list; who reads it still may hold it.
  std::unique_ptr<BranchStore> remove(size_t collection);

  // The branch goes on from a commit that comes from its last one, as a merge of it into another branch does. Throws
  // IllegalOperation where something is pending there. Whoever touches a document that this changes conflicts.
  void advance(Transaction& transaction, const std::string& name, CommitNumber to);
  // The same where it was made elsewhere: what is pending stays so.
  void advance_again(Transaction& transaction, const std::string& name, CommitNumber to);

  // Told of each content that is stored no longer, before it goes.
  using Lost = std::function<void(size_t collection, RecordId, Stamp generation, BytesView content)>;
  struct Swept {
    size_t commits = 0;
    uint64_t records = 0;
    std::vector<CommitNumber> dropped = {};
  };
  // Drops some of the commits that need not stay, the oldest, and frees what they alone showed. To be called again, each time in
  // a transaction of its own, until there are none; others may read and write meanwhile. Who begins to use a commit that is
  // dropped at the same time conflicts. `held` stay, as tags do.
  Swept sweep(Transaction& transaction, const Retention& retention, size_t commits_max, const Lost& lost,
              const std::vector<CommitNumber>& held = {});
  // Those that another member dropped.
  Swept sweep_again(Transaction& transaction, std::vector<CommitNumber> commits, const Lost& lost);
  // Takes nodes of trees away that only dropped commits had, some at a time; returns how many. To be called again until it is 0.
  // Costs as much as all trees have nodes.
  uint64_t free_nodes(Transaction& transaction, const std::function<void()>& interrupted);
  // Takes a document out of all history, branches included, and returns how many versions of it there were. Commits keep their
  // ids and trees, which name it and its hash; it leaves the tree of a collection with the next commit that changes that.
  // Conflicts with whoever commits on any branch.
  uint64_t purge(Transaction& transaction, size_t collection, BytesView key, const Lost& lost);

 private:
  View state_view(Transaction& transaction, CommitNumber commit, size_t collection) const;
  Branch add(Transaction& transaction, const std::string& name, CommitNumber from);
  std::shared_ptr<const Commit> put(Transaction& transaction, Branch& branch, Commit commit, const CommitInfo& info);
  std::vector<CollectionState> states(Transaction& transaction, CommitNumber commit, const CommitInfo& info);
  const CollectionState* state_of(const Commit& commit, size_t collection) const {
    return commit.state_of(collections_[collection].parts.collection);
  }
  TreeKind tree_kind(const CommitInfo& info, size_t collection) const;
  std::optional<Hash> root_known(Transaction& transaction, const Commit& commit,
                                 const CollectionState& state);  // said or made, of whatever kind
  std::optional<Hash> root_there(Transaction& transaction, CommitNumber commit, size_t collection,
                                 const TreeKind& kind);  // said or made
  Hash root_as(Transaction& transaction, CommitNumber commit, size_t collection, const TreeKind& kind);
  // What a commit behind this one says of the collection where it doesn't change it, and where it does. `commit` has the
  // collection.
  Hash root_kept(Transaction& transaction, CommitNumber commit, size_t collection, const CommitInfo& info);
  Hash root_changed(Transaction& transaction, CommitNumber commit, const CollectionState& state, size_t collection,
                    const CommitInfo& info);
  CollectionState* find(std::vector<CollectionState>& states, size_t collection) const;  // nullptr: not among them
  // `known`: how many of them the commit before had.
  CollectionState& find_or_add(Transaction& transaction, std::vector<CollectionState>& states, size_t known, size_t collection,
                               const CommitInfo& info) const;
  // Of a merge: where one side alone has made or dropped it, that counts; and what has documents is there.
  bool has_merged(Transaction& transaction, const Change& change, CommitNumber ours, size_t collection, State merged);
  static void erase(std::vector<CollectionState>& states, const std::vector<storage::CollectionId>& dropped);
  Merged bring_in(Transaction& transaction, Branch branch, const Change& change, const MergeTerms& terms, const CommitInfo& info);
  Swept sweep(Transaction& transaction, const Graph& graph, std::vector<CommitNumber> goes, const Lost& lost);
  void check_committed(Transaction& transaction, const Branch& branch) const;
  CommitNumber first_parent(Transaction& transaction, CommitNumber commit) const;
  bool segment_a_branch() const { return layout_ == Layout::hybrid || layout_ == Layout::version_first; }

  // What the new state doesn't show any more of what the old one's tree names.
  void add_purged(Transaction& transaction, size_t collection, State before, State after, std::vector<DocumentHash>& changes);
  // What it makes of the branch's tree: of a merge that was planned here; of one that was decided elsewhere.
  std::vector<DocumentHash> merge_changes(Transaction& transaction, size_t collection, const Change& change, const TreeKind& kind,
                                          MergePlan& plan);
  std::vector<DocumentHash> changes_of(Transaction& transaction, size_t collection, const BranchStore::Adoption& adoption);
  void write_adoption(Transaction& transaction, const Branch& branch, size_t collection, CollectionState& state,
                      CommitNumber commit, const BranchStore::Adoption& adoption, std::vector<DocumentHash> changes,
                      Stamp generation, const std::function<void()>& interrupted);

  VersionGraph graph_;
  Roots roots_;
  Layout layout_;
  std::vector<Collection> collections_;
  std::vector<std::unique_ptr<BranchStore>> stores_;
};

}  // namespace versions
