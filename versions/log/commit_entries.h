// These log entries make commits of a branch's writes.
//
//   {commit: "dev", collections: [uuid, …], below: Timestamp, others: [Timestamp, …], time, metadata, id, trees}
//   {makeTree: 1, commit, collection: uuid, documents: 262144, tree: {…}}
//
// branch_entries.h says what holds for `encode` and `decode`.
#pragma once

#include "versions/log/made_commit.h"

namespace versions::log {

struct CommitBranch {
  static constexpr std::string_view name = "commit";
  std::string branch;
  std::vector<Bytes> collections = {};  // UUIDs; empty: the commit is of all collections
  Held held = {};                       // the writes that the commit contains
  MadeCommit made = {};

  bson::Document encode() const;
  static CommitBranch decode(bson::DocumentView command);
  bool operator==(const CommitBranch&) const = default;
};

// A part of the hash tree that a collection's next commit begins with.
struct MakeTree {
  static constexpr std::string_view name = "makeTree";
  Hash commit{};
  Bytes collection;       // UUID
  int32_t documents = 0;  // how many documents the part has at most; at least 1
  TreeKind tree = {};

  bson::Document encode() const;
  static MakeTree decode(bson::DocumentView command);
  bool operator==(const MakeTree&) const = default;
};

}  // namespace versions::log
