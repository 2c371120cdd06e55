// On a member of a replica set, this class decides which commits a checkpoint may hold.
//
// Commits are numbered as they begin, and the number is WiredTiger's commit timestamp. A commit that took timestamps can be
// stable once the log is majority-committed up to the newest of them. A commit without timestamps is background work, and can be
// stable once it is made. Both become stable only when all commits below them are:
//
//   commit   101   102   103   104   105
//   timestamp  7     -     6     9     -        majority-committed up to 8: commits up to 103 are stable
//
// A checkpoint holds the state of the newest stable commit, so no checkpoint holds writes that the set may still roll back.
#pragma once

#include <deque>
#include <set>

#include "base/mutex.h"
#include "storage/engine/record_id.h"
#include "storage/engine/wt.h"

namespace storage {

// The class is thread-safe. Its lock isn't held while a commit is made: the commit may have to wait for room in the cache, and
// that may have to wait for the stable timestamp to move.
class StableCommits {
 public:
  // The numbers continue after those in the directory. The object is made before the first commit.
  explicit StableCommits(wt::Connection& connection);

  // Returns the number of a commit that is about to be made. `first` and `newest` are the ends of its timestamps; 0 means that it
  // took none. The caller calls `over` afterwards.
  uint64_t begin(Stamp first, Stamp newest);
  void over(uint64_t commit, bool made);

  // Reports that the log is majority-committed up to this timestamp.
  void set_majority_committed(Stamp upto);
  struct Point {
    uint64_t commit = 0;  // this commit and those before it are stable
    Stamp stamp = 0;      // they include everything with a timestamp up to this one
  };
  // Moves WiredTiger's stable timestamp as far as it may go, and returns the point it moved to. The call looks at every commit
  // that isn't stable.
  Point advance();
  // Returns the newest stable point and keeps its state readable. The state stays readable until `let_go` was called as often as
  // `keep`.
  Point keep();
  void let_go(uint64_t commit);
  uint64_t last() const;  // it returns the newest number that was given out

 private:
  struct Unstable {
    uint64_t commit;
    Stamp first, newest;
    bool made;
  };
  Point point() const REQUIRES(mutex_);
  void pass_on_stable() REQUIRES(mutex_);

  wt::Connection& connection_;
  mutable base::Mutex mutex_;
  uint64_t last_ GUARDED_BY(mutex_) = 0;
  uint64_t stable_ GUARDED_BY(mutex_) = 0;
  Stamp majority_committed_ GUARDED_BY(mutex_) = 0;
  std::multiset<uint64_t> kept_ GUARDED_BY(mutex_);
  std::deque<Unstable> unstable_ GUARDED_BY(mutex_);  // they are sorted by number
};

}  // namespace storage
