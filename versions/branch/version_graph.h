// The version graph of a database holds its commits, their parents, and the commit that each branch ends at.
//
//   commit  number -> id, parents, time, metadata, and for each collection a state and a root
//   id      SHA-256 over what the commit says, so that equal histories have equal names on every machine
//
// A number is this directory's short name for a commit. Parents have lower numbers, and numbers name states in the collections'
// tables. docs/formats/branches.md.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "storage/engine/engine.h"
#include "versions/branch/branch_store.h"
#include "versions/branch/retention.h"

namespace versions {

struct CollectionState {
  storage::CollectionId collection = 0;
  Bytes label;  // the collection's name on every machine: its UUID
  State state = 0;
  Hash digest{};  // of the kind that the commit has
};

// The form in which a commit's id says what a collection's documents are.
enum class DigestKind : uint8_t {
  sums = 1,   // the sum of the documents' hashes: commits from before there were roots have it
  roots = 2,  // the root of a hash tree (Roots); zeros: nothing
};

struct Commit {
  Hash id{};
  CommitNumber number = 0;
  std::vector<CommitNumber> parents = {};  // the first is the commit that its branch ended at before
  int64_t time_ms = 0;                     // since 1970
  Bytes metadata = {};                     // the caller's: author and message
  std::vector<CollectionState> collections = {};
  DigestKind digests = DigestKind::roots;
  bool dropped = false;  // as its row was read; VersionGraph::dropped says it of now
  // Nothing but its id is known, since the history is shallow: a child names it as its parent. Such a commit is also `dropped`.
  bool absent = false;
  // It was made after commits that come from it, or its parents were. Then its row has their numbers as they are.
  bool grafted = false;

  // The root of a collection that is in the commit; nullopt: the commit's id says nothing of the documents, or names no tree.
  std::optional<Hash> root_of(const CollectionState& state) const;
  const CollectionState* state_of(storage::CollectionId collection) const;
};

struct Branch {
  std::string name;
  BranchId id = BranchId::none;
  CommitNumber head = 0;
  Segment segment = 0;  // the branch's new records go there, in every collection
};

// Thread-safe; transactions are not.
class VersionGraph {
 public:
  // `database` is a number that no other database has. Opens the tables, or makes them; must not be called inside a transaction.
  VersionGraph(storage::Engine& engine, uint32_t database);

  std::optional<Branch> branch(Transaction& transaction, const std::string& name) const;
  std::vector<Branch> branches(Transaction& transaction) const;  // by name
  void put_branch(Transaction& transaction, const Branch& branch);
  void remove_branch(Transaction& transaction, const std::string& name);
  // Called in the transaction, before a branch's row changes or goes. `before` is empty if there is no row. It must be set before
  // anybody else uses the graph.
  using Changing = std::function<void(Transaction&, const std::string& name, BytesView before)>;
  void set_changing(Changing changing) { changing_ = std::move(changing); }
  // Reads such a row. Throws DataCorruptionDetected.
  static Branch branch_of_row(BytesView name, BytesView row);
  // Tags are names of commits that never move.
  std::optional<CommitNumber> tag(Transaction& transaction, const std::string& name) const;
  std::vector<std::pair<std::string, CommitNumber>> tags(Transaction& transaction) const;  // by name
  // The commit stays as long as the tag does.
  void put_tag(Transaction& transaction, const std::string& name, CommitNumber commit);
  void remove_tag(Transaction& transaction, const std::string& name);
  // Another transaction that wants the name at the same time, for a branch or a tag, conflicts.
  void claim_name(Transaction& transaction, const std::string& name) const;
  // Both conflict with another transaction that takes a number at the same time.
  BranchId new_branch_id(Transaction& transaction);
  void claim_branch_ids(Transaction& transaction);  // takes no number, and conflicts with those that do
  Segment new_segment(Transaction& transaction);

  // The root of a tree that was made for a commit whose id names no tree, or one of another kind, or by a repair because the tree
  // is damaged; nullopt: nobody has needed it yet.
  struct MadeRoot {
    Hash root{};
    Bytes reached = {};  // the tree is being made, and goes on behind this key; empty: the tree is whole
  };
  std::optional<MadeRoot> made_root(Transaction& transaction, storage::CollectionId collection, CommitNumber commit) const;
  void put_made_root(Transaction& transaction, storage::CollectionId collection, CommitNumber commit, const MadeRoot& made);
  void remove_made_root(Transaction& transaction, storage::CollectionId collection, CommitNumber commit);
  void remove_made_roots(Transaction& transaction, storage::CollectionId collection);
  // The roots that commits name which weren't dropped, and those that were made for commits.
  std::vector<Hash> roots(Transaction& transaction) const;

  // Commits up to this one were there before the newest of the unique indexes that were made since the first branch. They may
  // show two documents under one key of that index. 0: there are no such commits.
  CommitNumber before_unique(Transaction& transaction) const;
  // Sets before_unique to the newest commit. No commit may be under way.
  void put_before_unique(Transaction& transaction);

  // Throws DataCorruptionDetected if there is none of that number: numbers come from rows.
  std::shared_ptr<const Commit> commit(Transaction& transaction, CommitNumber number) const;
  // The commit as its row is now, whatever is in memory.
  Commit stored(Transaction& transaction, CommitNumber number) const;
  struct Counts {
    uint64_t commits = 0, dropped = 0, absent = 0;
  };
  Counts counts(Transaction& transaction) const;
  // The commit of what was there before the first branch. Throws as commit() does. In a shallow history it is the empty commit
  // that stands for it, until the first commit arrives.
  CommitNumber first(Transaction& transaction) const;
  // The first commit's child that proves what the first one holds; the same command makes both. nullopt: there is none yet.
  std::optional<CommitNumber> proof_of_first(Transaction& transaction) const;
  // Finds a commit by the first hex digits of its id, at least eight. Throws BadValue for other text, and if several commits fit.
  std::optional<CommitNumber> find(Transaction& transaction, std::string_view hex) const;
  // Returns the commit with this id, absent or not.
  std::optional<CommitNumber> find(Transaction& transaction, const Hash& id) const;
  CommitNumber new_commit_number() { return next_commit_.fetch_add(1) + 1; }
  // Fills in the id. If a commit with the same statement exists, this one's time becomes a millisecond later; if it is absent,
  // this one takes its place and its number.
  void put_commit(Transaction& transaction, Commit& commit);
  // Stores the commit's number if it is the one that proof_of_first returns; put_commit has done so for one that has the states
  // of its parent. `same_documents`: it shows what its parent shows, by other states.
  void note_proof(Transaction& transaction, const Commit& commit, bool same_documents);
  // Returns the bytes of which the commit's id is the SHA-256.
  Bytes statement(Transaction& transaction, const Commit& commit) const;

  // --- shallow histories: some commits name parents of which nothing but the id is here
  // Returns the number of the commit with this id, which becomes absent if there is none.
  CommitNumber find_or_put_absent(Transaction& transaction, const Hash& id);
  bool absent(Transaction& transaction, CommitNumber number) const;
  // Returns whether any commit was ever absent here. Then parents may have higher numbers than their children.
  bool grafted(Transaction& transaction) const;
  // Returns whether a parent of the commit is absent.
  bool is_boundary(Transaction& transaction, const Commit& commit) const;
  // Returns the commits at the boundary, without those that retention dropped, or with them.
  std::vector<CommitNumber> boundaries(Transaction& transaction, bool dropped_too = false) const;
  // first() returns this commit from now on.
  void put_first(Transaction& transaction, CommitNumber number);

  // --- retention: a dropped commit keeps its name and its place, and says nothing else
  RetentionPolicy policy(Transaction& transaction) const;
  void put_policy(Transaction& transaction, const RetentionPolicy& policy);
  // Returns the rules that commits must fulfil (BranchedDatabase::commit_validators).
  Bytes validators(Transaction& transaction) const;  // empty: nothing
  void put_validators(Transaction& transaction, BytesView validators);
  bool dropped(Transaction& transaction, CommitNumber number) const;
  void drop_commit(Transaction& transaction, CommitNumber number);
  // Another transaction that drops the commit at the same time conflicts. Throws BadValue if the commit was dropped already, or
  // is absent.
  void hold(Transaction& transaction, CommitNumber number) const;
  Graph graph(Transaction& transaction) const;

  // Returns the newest common ancestor of two commits; a commit counts as its own ancestor. 0: there is none. If there are
  // several of which none descends from another, it is the one that was committed last here.
  CommitNumber common_ancestor(Transaction& transaction, CommitNumber a, CommitNumber b) const;
  // Returns the common ancestor that a merge of the two begins from. Throws IllegalOperation if it isn't here, since history is
  // shallow.
  CommitNumber merge_base(Transaction& transaction, CommitNumber a, CommitNumber b) const;
  // Throws BadValue if retention dropped the commit, or if it is absent.
  void check_there(Transaction& transaction, CommitNumber number) const;

  std::vector<std::string> table_names() const { return {commits_.name(), ids_.name(), branches_.name()}; }

 private:
  friend class Log;
  uint32_t take(Transaction& transaction, BytesView counter, uint32_t first);

  void call_changing(Transaction& transaction, const std::string& name, BytesView now) const;
  using Reached = std::map<CommitNumber, std::shared_ptr<const Commit>>;
  Reached reached_from(Transaction& transaction, CommitNumber from) const;  // `from` and all that it comes from
  CommitNumber common_ancestor_grafted(Transaction& transaction, CommitNumber a, CommitNumber b) const;
  Table commits_, ids_, branches_;
  Changing changing_;
  std::atomic<CommitNumber> next_commit_{0};
  mutable base::Mutex mutex_;
  mutable base::Lru<CommitNumber, std::shared_ptr<const Commit>> cache_ GUARDED_BY(mutex_);
};

// Walks over a commit and all its ancestors, newest first, without those that were dropped. The order goes by their times along
// all lines, so it is the same on every machine, which the order of numbers isn't.
class Log {
 public:
  Log(const VersionGraph& graph, Transaction& transaction, CommitNumber from);
  bool next();
  const Commit& commit() const { return commit_; }

 private:
  bool step();
  void wait_for(CommitNumber number);
  TableCursor cursor_;
  CommitNumber at_ = 0;  // where the cursor stands
  std::unordered_set<CommitNumber> met_;
  std::map<std::pair<int64_t, Hash>, Commit, std::greater<>> waiting_;
  Commit commit_;
};

}  // namespace versions
