// A StampSource gives out timestamps, which order the writes in the log.
//
// The timestamps go up, and are given out under one lock. A transaction's timestamps are a range of its own, without anybody
// else's in between; those that it doesn't use leave a hole. Readers of the log may not read past the first of them until the
// transaction is committed or rolled back:
//
//   given out   5 | 6 7 8 | 9 …        open: {6 7 8}, {9 …}
//   readable    everything below 6
#pragma once

#include <atomic>
#include <deque>

#include "base/mutex.h"
#include "storage/engine/record_id.h"

namespace base {
class Clock;
}

namespace storage {

// This struct holds the timestamps of one transaction. Only the transaction's thread uses it.
struct StampRange {
  Stamp first = 0;  // 0 means that there is none yet
  Stamp next = 0;
  Stamp end = 0;       // the range is reserved up to here
  uint64_t place = 0;  // it is the place among the open ranges; 0 means that it has none
};

// The class is thread-safe.
class StampSource {
 public:
  explicit StampSource(base::Clock& clock) : clock_(clock) {}

  // Returns the next timestamp of the range. The first one takes a place among the open ranges, which has to be released, and
  // reserves `expected` timestamps in all. If those were not enough, the range grows as long as nobody has taken a timestamp
  // behind it; once somebody has, 0 is returned.
  Stamp next(StampRange& range, uint64_t expected);
  // Adds a timestamp, which another member gave out, to the range. If it is above all others and the range has no place yet, it
  // takes one, as a first timestamp does. If it is below, readers have passed it already, and it holds nobody back.
  void adopt(Stamp stamp, StampRange& range);
  // Returns a timestamp for a write that has no part in the log. These timestamps go up too, but apart from the others.
  Stamp apart();
  // Returns a timestamp for a write that is never committed. No two such writes in a process have the same one.
  Stamp draft() { return drafts_.fetch_add(1, std::memory_order_relaxed); }
  void release(uint64_t place);

  // Returns how many transactions took timestamps.
  uint64_t transactions() const;
  Stamp all_committed() const { return all_committed_.load(std::memory_order_acquire); }
  Stamp last() const;
  void raise(Stamp at_least);

 private:
  Stamp after(Stamp last) const;
  void open(StampRange& range, Stamp stamp) REQUIRES(mutex_);
  void publish() REQUIRES(mutex_);

  struct Open {
    Stamp stamp;
    bool done;
  };
  base::Clock& clock_;
  mutable base::Mutex mutex_;
  std::atomic<Stamp> all_committed_{1};
  std::atomic<Stamp> drafts_{first_draft_stamp};
  Stamp last_ GUARDED_BY(mutex_) = 0;
  Stamp apart_ GUARDED_BY(mutex_) = 0;
  uint64_t front_place_ GUARDED_BY(mutex_) = 1;  // this is the place of open_.front()
  std::deque<Open> open_ GUARDED_BY(mutex_);     // sorted by timestamp; those that are done leave from the front
};

}  // namespace storage
