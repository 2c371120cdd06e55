// These are the log entries of merges, cherry-picks and reverts.
//
//   {merge: "main", from, parents: 1 or 2, generation: Timestamp, roots: [{collection, root}, …], time, metadata, id, trees,
//    imported: [{collection, key, hash}, …]}
//   {advanceBranch: "dev", commit}
//   {beginMerge: "main", commit, request}
//   {decide: "main", collection: uuid, key, take, sides, document}
//   {endMerge: "main"}
//
// Entries of the documents that `merge` and `advanceBranch` change come before them in the same transaction. branch_entries.h
// says what holds for `encode` and `decode`.
#pragma once

#include "versions/branch/merge.h"
#include "versions/log/made_commit.h"

namespace versions::log {

struct MergeBranch {
  static constexpr std::string_view name = "merge";
  struct Root {
    Bytes collection;  // UUID
    Hash root{};
    bool operator==(const Root&) const = default;
  };
  std::string into;
  Hash from{};                   // the commit that the merge takes changes from
  int32_t parents = 2;           // of the merge's commit: a cherry-pick's or revert's has one
  Stamp generation = 0;          // of the documents that the merge writes
  std::vector<Root> roots = {};  // of all collections that the merge's commit has
  MadeCommit made = {};
  bool imported = false;  // the commit is another server's; `from` is the second parent, or the first if there is no second
  struct Named {
    Bytes collection;  // UUID
    Bytes key = {};
    std::optional<Hash> hash = {};  // nullopt: the tree names the document no longer
    bool operator==(const Named&) const = default;
  };
  std::vector<Named> named = {};  // documents that the commit's trees name, or its parent's did, though nobody has them

  bson::Document encode() const;
  static MergeBranch decode(bson::DocumentView command);
  bool operator==(const MergeBranch&) const = default;
};

// The branch ends at the commit of a merge that takes from the branch.
struct AdvanceBranch {
  static constexpr std::string_view name = "advanceBranch";
  std::string branch;
  Hash commit{};

  bson::Document encode() const;
  static AdvanceBranch decode(bson::DocumentView command);
  bool operator==(const AdvanceBranch&) const = default;
};

// A merge has stopped at conflicts, and waits for decisions.
struct BeginMerge {
  static constexpr std::string_view name = "beginMerge";
  std::string into;
  Hash commit{};           // the commit that the merge takes changes from
  bson::Document request;  // as the client asked for the merge

  bson::Document encode() const;
  static BeginMerge decode(bson::DocumentView command);
};

// A decision of somebody about one document of a merge that waits.
struct Decide {
  static constexpr std::string_view name = "decide";
  std::string into;
  Bytes collection;  // UUID
  Bytes key = {};    // of the document
  Decision decision = {};

  bson::Document encode() const;
  static Decide decode(bson::DocumentView command);
};

struct EndMerge {
  static constexpr std::string_view name = "endMerge";
  std::string into;

  bson::Document encode() const;
  static EndMerge decode(bson::DocumentView command);
  bool operator==(const EndMerge&) const = default;
};

}  // namespace versions::log
