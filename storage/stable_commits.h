// Which commits a checkpoint may hold, on a member of a replica set.
//
// Commits are numbered in their order, and the number is WiredTiger's commit timestamp. A commit that took stamps is
// stable once the set has agreed on the log up to its newest one; a commit without, background work, once all before it are:
//
//   commit   101   102   103   104   105
//   stamp      7     -     6     9     -        agreed up to 8: stable are those up to 103
//
// Checkpoints are as of the newest stable commit: whatever the set may still decide against is in none.
#pragma once

#include <algorithm>
#include <deque>
#include <set>

#include "storage/record_id.h"
#include "storage/wt.h"

namespace storage {

// Not thread-safe: whoever calls holds the lock commits are made under.
class StableCommits {
 public:
  // Goes on behind what the directory was opened with. Before the first commit.
  explicit StableCommits(wt::Connection& connection);

  // The number the next commit is to have.
  uint64_t next() const { return last_ + 1; }
  // It was made. `newest`: of its stamps; 0: it took none.
  void committed(Stamp newest);

  void agreed(Stamp upto) { agreed_ = std::max(agreed_, upto); }

  // Moves WiredTiger's stable timestamp as far as it may go.
  void advance();

  struct Point {
    uint64_t commit = 0;  // stable are this one and those before
    Stamp stamp = 0;      // everything stamped up to here is among them
  };
  // Looks at every commit that isn't stable.
  Point stable() const;
  // From then on what was stable at `commit` can be read as of it, until it is let go of as often.
  void keep(uint64_t commit) { kept_.insert(commit); }
  void let_go(uint64_t commit);
  uint64_t last() const { return last_; }

 private:
  struct Unstable {
    uint64_t commit;
    Stamp newest;
  };
  void tell_engine();

  wt::Connection& connection_;
  uint64_t last_ = 0;
  uint64_t stable_ = 0;
  Stamp agreed_ = 0;
  std::multiset<uint64_t> kept_;
  std::deque<Unstable> unstable_;
};

}  // namespace storage
