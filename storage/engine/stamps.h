// Stamps: what time it is in the log.
//
// Given out going up, under one lock. A transaction's stamps are a range of its
// own, with nobody else's in between; what it leaves over is a hole. The first of
// them holds back how far the log may be read until the transaction is committed
// or gone:
//
//   given out   5 | 6 7 8 | 9 …        open: {6 7 8}, {9 …}
//   readable    everything below 6
#pragma once

#include <atomic>
#include <deque>
#include <mutex>

#include "storage/engine/record_id.h"

namespace base {
class Clock;
}

namespace storage {

// The stamps of one transaction. Of its thread alone.
struct StampRange {
  Stamp first = 0;  // 0: none yet
  Stamp next = 0;
  Stamp end = 0;       // reserved up to here
  uint64_t place = 0;  // among the open ones; 0: none
};

// Thread-safe.
class StampSource {
 public:
  explicit StampSource(base::Clock& clock) : clock_(clock) {}

  // The next of the range. The first takes a place among the open ones, to be released, and reserves `expected` in all; where
  // that was not enough the range goes on as long as nobody has taken a stamp behind it. 0: somebody has.
  Stamp next(StampRange& range, uint64_t expected);
  // One that was given out elsewhere. Above all others it takes a place as a first one does, where the range has none yet; below,
  // readers have passed it already and nobody is held back.
  void adopt(Stamp stamp, StampRange& range);
  // For what has no part in the log: goes up, but apart from the others.
  Stamp apart();
  void release(uint64_t place);

  // Transactions that took one.
  uint64_t transactions() const;
  Stamp all_committed() const { return all_committed_.load(std::memory_order_acquire); }
  Stamp last() const;
  void raise(Stamp at_least);

 private:
  Stamp after(Stamp last) const;
  void open(StampRange& range, Stamp stamp);
  void publish();

  struct Open {
    Stamp stamp;
    bool done;
  };
  base::Clock& clock_;
  mutable std::mutex mutex_;
  std::atomic<Stamp> all_committed_{1};
  Stamp last_ = 0;
  Stamp apart_ = 0;
  uint64_t front_place_ = 1;  // the place of open_.front()
  std::deque<Open> open_;     // in order of their stamps; done ones leave from the front
};

}  // namespace storage
