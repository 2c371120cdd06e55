// Which commits may go.
//
//   main   1 --- 2 --- 3 --- 4 --- 5 --- 6        newest 2: 5, 6 stay
//                      |                          branches' heads and tags stay: 6, 8
//   dev                +--- 7 --- 8               where lines part: 3 stays, as the ancestor of a merge to come
//   dropped                  9 --- 10             nothing comes from 10 and nothing is called by it: both go
//
// 1, 2, 4, 9 and 10 may go: what they alone show is freed, their names and their places in the graph stay.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace versions {

using CommitNumber = uint64_t;

// A commit stays for either reason.
struct Retention {
  uint64_t newest = UINT64_MAX;  // so many of each branch, by first parents
  int64_t since_ms = INT64_MAX;  // it is not older
};

// What is to stay of a database from now on. Nothing said: everything.
struct RetentionPolicy {
  std::optional<uint64_t> newest;  // at least 1
  std::optional<int64_t> age_ms;   // at least 1

  bool keeps_all() const { return !newest && !age_ms; }
  Retention at(int64_t now_ms) const;
};

// A commit as far as this goes. Parents have lower numbers.
struct GraphNode {
  std::vector<CommitNumber> parents;
  int64_t time_ms = 0;
  bool dropped = false;
};
using Graph = std::map<CommitNumber, GraphNode>;

// Oldest first; none that is dropped already. `tips`: heads of branches; `names`: what tags and readers hold.
std::vector<CommitNumber> may_go(const Graph& graph, const std::vector<CommitNumber>& tips,
                                 const std::vector<CommitNumber>& names, const Retention& retention);

// The nearest commit that stays of those that come from it, else of those that it comes from; 0: none. `goes` beside what is
// dropped.
CommitNumber nearest_kept(const Graph& graph, CommitNumber commit, const std::vector<CommitNumber>& goes);

}  // namespace versions
