// A CommitPacker packs commits of a database (versions/pack), piece by piece.
#pragma once

#include <deque>
#include <optional>
#include <set>

#include "versions/database/commit_rows.h"
#include "versions/database/selected_commits.h"
#include "versions/pack/pack_writer.h"

namespace versions {

// KnownCommits are the ids of a few of a server's commits, by which another server finds out what this one lacks.
struct KnownCommits {
  // All commits that no other comes from, and of their ancestors along first parents those 1, 2, 4, 8 … steps behind.
  static std::vector<Hash> of(Transaction& transaction, const VersionGraph& graph);
  static constexpr size_t ids_max = 100'000;
};

// The names that a pack brings, with the commits that they name.
std::vector<pack::Ref> refs_of(Transaction& transaction, const VersionGraph& graph);

// One thread at a time uses it. The transaction outlives it.
class CommitPacker {
 public:
  struct What {
    std::vector<pack::Ref> refs = {};  // their commits, and all that these come from, are packed …
    std::vector<Hash> known = {};      // … but not what these commits are and come from, as far as they are here
    std::vector<Hash> shallow = {};    // of `known`: whoever has these lacks their parents
    // Only so many of the newest commits of each ref are packed, those behind commits in `known` too; UINT64_MAX: all. nullopt:
    // nothing behind commits in `known`.
    std::optional<uint64_t> depth = {};
    // Says which part of each commit is packed; then `known` and `shallow` are ids of SelectedCommits. Empty: all of it.
    Selection selection = {};
    Filtering filtering = {};  // for a selection that has filters
    bool deltas = true;        // false: changed documents come whole
    // A pack ends with the commit that reaches so many bytes, and another one follows.
    uint64_t pack_bytes = UINT64_MAX;
    std::function<void()> interrupted = {};  // called at each commit while they are chosen; may throw
  };
  CommitPacker(BranchedDatabase& database, Transaction& transaction, What what);

  size_t commits() const { return commits_; }
  // Returns how many of them are left to be packed.
  size_t left() const { return order_.size(); }

  struct Piece {
    Bytes bytes;
    bool ends_pack = false;
  };
  // A megabyte of a pack or a few more; nullopt: the last one has ended. `interrupted` may throw.
  std::optional<Piece> next(const std::function<void()>& interrupted);

 private:
  Hash id(CommitNumber number) const;
  std::optional<CommitNumber> find(const Hash& id) const;
  bool is_packed(storage::CollectionId collection) const { return !selected_ || selected_->has(collection); }
  void go_on() const {
    if (what_.interrupted) what_.interrupted();
  }
  void choose();
  std::set<CommitNumber> choose_known() const;
  std::set<CommitNumber> choose_wanted(const std::set<CommitNumber>& known) const;
  void put_in_order(const std::set<CommitNumber>& wanted);
  void choose_against();
  std::optional<Hash> first() const;
  void begin_pack();
  pack::Commit statement(CommitNumber number);
  pack::Row row_of(CommitRows::Row row) const;

  BranchedDatabase& database_;
  Transaction& transaction_;
  const What what_;
  std::optional<SelectedCommits> selected_;
  std::deque<CommitNumber> order_;
  std::set<CommitNumber> excluded_;               // parents that are neither packed nor known
  std::map<CommitNumber, CommitNumber> against_;  // commits whose rows aren't against their first parents; 0: against nothing
  size_t commits_ = 0;
  // Collections of all packs' commits and of refs. With the last pack the receiver makes the indexes that restrict its branches.
  std::set<storage::CollectionId> collections_;
  std::map<storage::CollectionId, uint32_t> places_;  // of the header's collections
  std::optional<pack::PackWriter> writer_;
  bool finished_ = false;  // the writer has the whole pack, and not all of it was returned
  std::unique_ptr<CommitRows> rows_;
  bool begun_ = false;
};

}  // namespace versions
