// Which commits a checkpoint may hold, on a member of a replica set.
//
// Commits are numbered as they begin, and the number is WiredTiger's commit timestamp. A commit that took stamps is
// stable once the set has agreed on the log up to its newest one; a commit without, background work, once it is made;
// and neither before all below it are:
//
//   commit   101   102   103   104   105
//   stamp      7     -     6     9     -        agreed up to 8: stable are those up to 103
//
// Checkpoints are as of the newest stable commit: whatever the set may still decide against is in none.
#pragma once

#include <deque>
#include <mutex>
#include <set>

#include "storage/engine/record_id.h"
#include "storage/engine/wt.h"

namespace storage {

// Thread-safe. No commit holds its lock while it is made: making one may have to wait for room in the cache, and that may
// have to wait for the stable timestamp to move.
class StableCommits {
 public:
  // Goes on behind what the directory was opened with. Before the first commit.
  explicit StableCommits(wt::Connection& connection);

  // The number of a commit that is about to be made. `newest`: of its stamps; 0: it took none. `over` follows.
  uint64_t begin(Stamp newest);
  void over(uint64_t commit, bool made);

  // The set has agreed on the log up to here.
  void agree(Stamp upto);
  struct Point {
    uint64_t commit = 0;  // stable are this one and those before
    Stamp stamp = 0;      // everything stamped up to here is among them
  };
  // Moves WiredTiger's stable timestamp as far as it may go: where that is. Looks at every commit that isn't stable.
  Point advance();
  // From then on what is stable now can be read as of it, until it is let go of as often.
  Point keep();
  void let_go(uint64_t commit);
  uint64_t last() const;  // the newest number that was given out

 private:
  struct Unstable {
    uint64_t commit;
    Stamp newest;
    bool made;
  };
  Point point() const;
  void tell_engine();

  wt::Connection& connection_;
  mutable std::mutex mutex_;
  uint64_t last_ = 0;
  uint64_t stable_ = 0;
  Stamp agreed_ = 0;
  std::multiset<uint64_t> kept_;
  std::deque<Unstable> unstable_;  // by number
};

}  // namespace storage
