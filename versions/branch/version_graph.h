// The version graph of a database: commits, the branches that name their newest, and who comes from whom.
//
//   commit  number -> id, parents, time, metadata, a state and a root a collection
//   id      SHA-256 over what the commit says, so that equal histories have equal names on every machine
//
// A number is this directory's short name for a commit: parents have lower ones, and they name states in the collections'
// tables. docs/formats/branches.md.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "storage/engine/engine.h"
#include "versions/branch/branch_store.h"
#include "versions/branch/retention.h"

namespace versions {

struct CollectionState {
  storage::CollectionId collection = 0;
  Bytes label;  // what it is called on every machine: its UUID
  State state = 0;
  Hash digest{};  // by the commit's kind
};

// What a commit's id says of a collection's documents.
enum class DigestKind : uint8_t {
  sums = 1,   // of commits from before there were roots: the sum of hashes of documents
  roots = 2,  // of a hash tree (Roots); zeros: nothing
};

struct Commit {
  Hash id{};
  CommitNumber number = 0;
  std::vector<CommitNumber> parents = {};  // the first is what its branch was before
  int64_t time_ms = 0;                     // since 1970
  Bytes metadata = {};                     // author, message: the caller's
  std::vector<CollectionState> collections = {};
  DigestKind digests = DigestKind::roots;
  bool dropped = false;  // as its row was read: VersionGraph::dropped

  // Of a collection that is in the commit; nullopt: its id says nothing of the documents, or not in a tree.
  std::optional<Hash> root_of(const CollectionState& state) const;
  const CollectionState* state_of(storage::CollectionId collection) const;
};

struct Branch {
  std::string name;
  BranchId id = BranchId::none;
  CommitNumber head = 0;
  Segment segment = 0;  // its new records go there, in every collection
};

// Thread-safe; transactions are not.
class VersionGraph {
 public:
  // `database`: a number that no other has. Opens or makes the tables, not inside a transaction.
  VersionGraph(storage::Engine& engine, uint32_t database);

  std::optional<Branch> branch(Transaction& transaction, const std::string& name) const;
  std::vector<Branch> branches(Transaction& transaction) const;  // by name
  void put_branch(Transaction& transaction, const Branch& branch);
  void remove_branch(Transaction& transaction, const std::string& name);
  // Told, in the transaction, before a branch's row changes or goes; `before` is empty where there is none. Before anybody else
  // uses the graph.
  using Changing = std::function<void(Transaction&, const std::string& name, BytesView before)>;
  void set_changing(Changing changing) { changing_ = std::move(changing); }
  // Of such a row. Throws DataCorruptionDetected.
  static Branch branch_of_row(BytesView name, BytesView row);
  // Names of commits that stay where they are.
  std::optional<CommitNumber> tag(Transaction& transaction, const std::string& name) const;
  std::vector<std::pair<std::string, CommitNumber>> tags(Transaction& transaction) const;  // by name
  void put_tag(Transaction& transaction, const std::string& name, CommitNumber commit);    // holds it
  void remove_tag(Transaction& transaction, const std::string& name);
  // Whoever else wants the name at the same time, for a branch or a tag, conflicts.
  void claim_name(Transaction& transaction, const std::string& name) const;
  // Both conflict with whoever takes one at the same time.
  BranchId new_branch_id(Transaction& transaction);
  void claim_branch_ids(Transaction& transaction);  // takes none, and conflicts likewise
  Segment new_segment(Transaction& transaction);

  // Of the tree that was made for a commit whose id doesn't say one, or says one of another kind; nullopt: nobody has needed it
  // yet.
  struct MadeRoot {
    Hash root{};
    Bytes reached = {};  // it is under way, and goes on behind this; empty: it is whole
  };
  std::optional<MadeRoot> made_root(Transaction& transaction, storage::CollectionId collection, CommitNumber commit) const;
  void put_made_root(Transaction& transaction, storage::CollectionId collection, CommitNumber commit, const MadeRoot& made);
  void remove_made_root(Transaction& transaction, storage::CollectionId collection, CommitNumber commit);
  void remove_made_roots(Transaction& transaction, storage::CollectionId collection);
  // All that commits say which weren't dropped, and all that were made for them.
  std::vector<Hash> roots(Transaction& transaction) const;

  // Commits up to this one were there before the newest of the unique indexes that were made since the first branch, and may show
  // two documents under one of its keys. 0: there are none.
  CommitNumber before_unique(Transaction& transaction) const;
  // All that there are by now. No commit is being made meanwhile.
  void put_before_unique(Transaction& transaction);

  // Throws DataCorruptionDetected where it isn't there: numbers come from rows.
  std::shared_ptr<const Commit> commit(Transaction& transaction, CommitNumber number) const;
  // As its row is now, whatever is in memory.
  Commit stored(Transaction& transaction, CommitNumber number) const;
  struct Counts {
    uint64_t commits = 0, dropped = 0;
  };
  Counts counts(Transaction& transaction) const;
  // With what was there before; throws as above.
  CommitNumber first(Transaction& transaction) const;
  // The commit behind it that proves what it holds, made by the same command; nullopt: nobody has asked for one.
  std::optional<CommitNumber> proof_of_first(Transaction& transaction) const;
  // By the first hex digits of its id, at least eight. Throws BadValue for what is no such thing, or fits several.
  std::optional<CommitNumber> find(Transaction& transaction, std::string_view hex) const;
  CommitNumber new_commit_number() { return next_commit_.fetch_add(1) + 1; }
  // Fills in the id. Where one says just the same already, it is a millisecond later.
  void put_commit(Transaction& transaction, Commit& commit);
  // What its id is the SHA-256 of.
  Bytes statement(Transaction& transaction, const Commit& commit) const;

  // --- retention: a dropped commit keeps its name and its place, and says nothing else
  RetentionPolicy policy(Transaction& transaction) const;
  void put_policy(Transaction& transaction, const RetentionPolicy& policy);
  bool dropped(Transaction& transaction, CommitNumber number) const;
  void drop_commit(Transaction& transaction, CommitNumber number);
  // Whoever drops the commit at the same time conflicts. Throws BadValue where it is dropped already.
  void hold(Transaction& transaction, CommitNumber number) const;
  Graph graph(Transaction& transaction) const;

  // The newest commit that both come from, themselves included; 0: none. Of several that aren't each other's ancestors the
  // one committed last here.
  CommitNumber common_ancestor(Transaction& transaction, CommitNumber a, CommitNumber b) const;

  std::vector<std::string> table_names() const { return {commits_.name(), ids_.name(), branches_.name()}; }

 private:
  friend class Log;
  uint32_t take(Transaction& transaction, BytesView counter, uint32_t first);

  void tell_changing(Transaction& transaction, const std::string& name, BytesView now) const;
  // Where it is what proof_of_first tells.
  void note_proof(Transaction& transaction, const Commit& commit);

  Table commits_, ids_, branches_;
  Changing changing_;
  std::atomic<CommitNumber> next_commit_{0};
  mutable std::mutex mutex_;
  mutable base::Lru<CommitNumber, std::shared_ptr<const Commit>> cache_;
};

// A commit and all that it comes from, newest first, without those that were dropped. The order is that of their times along all
// lines, and the same on every machine: numbers aren't.
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
