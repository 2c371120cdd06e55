// Retention decides which commits may go.
//
//   main   1 --- 2 --- 3 --- 4 --- 5 --- 6        newest 2: 5, 6 stay
//                      |                          branches' heads and tags stay: 6, 8
//   dev                +--- 7 --- 8               where lines part: 3 stays, as the ancestor of a later merge
//   dropped                  9 --- 10             no commit descends from 10, and no name leads to it: both go
//
// 1, 2, 4, 9 and 10 may go: what they alone show is freed, and their ids and their places in the graph stay.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "versions/merkle/hash.h"

namespace versions {

using CommitNumber = uint64_t;

// A commit stays if either holds.
struct Retention {
  uint64_t newest = UINT64_MAX;  // it is among so many newest ones of a branch, by first parents
  int64_t since_ms = INT64_MAX;  // it is as young as that, or younger
};

// A RetentionPolicy says which commits of a database stay from now on. If neither field is set, all stay.
struct RetentionPolicy {
  std::optional<uint64_t> newest;  // at least 1
  std::optional<int64_t> age_ms;   // at least 1

  bool keeps_all() const { return !newest && !age_ms; }
  Retention at(int64_t now_ms) const;
};

// A GraphNode is what a pass over the graph knows of a commit.
struct GraphNode {
  std::vector<CommitNumber> parents;
  int64_t time_ms = 0;
  bool dropped = false;
  merkle::Hash id{};
};
using Graph = std::map<CommitNumber, GraphNode>;

// The graph's commits so that parents come first. That is the order of their numbers, unless history was shallow once.
std::vector<CommitNumber> parents_first(const Graph& graph);

// The commits that may go, oldest first, without those that were dropped already. `tips` are heads of branches; `names` are
// commits that tags and readers hold.
std::vector<CommitNumber> may_go(const Graph& graph, const std::vector<CommitNumber>& tips,
                                 const std::vector<CommitNumber>& names, const Retention& retention);

// Finds for commits those nearest to them that stay. `goes` are in ascending order; they go beside those that were dropped.
// It borrows both.
class NearestKept {
 public:
  NearestKept(const Graph& graph, const std::vector<CommitNumber>& goes);
  // Returns the nearest descendant that stays, else the nearest ancestor that stays; 0: there is neither.
  CommitNumber of(CommitNumber commit) const;

 private:
  bool kept(CommitNumber commit) const;

  const Graph& graph_;
  const std::vector<CommitNumber>& goes_;
  std::vector<CommitNumber> order_;  // parents first
  std::unordered_map<CommitNumber, size_t> places_;
};

}  // namespace versions
