// Stamps: what time it is in the log.
//
// Given out going up, under one lock. A transaction's first stamp holds back
// how far the log may be read until the transaction is committed or gone:
//
//   given out   5 6 7 8 9        open: {6 …}, {9 …}
//   readable    everything below 6
#pragma once

#include <atomic>
#include <deque>
#include <mutex>

#include "storage/record_id.h"

namespace base {
class Clock;
}

namespace storage {

// Thread-safe.
class StampSource {
 public:
  explicit StampSource(base::Clock& clock) : clock_(clock) {}

  // The first of a transaction takes a place among the open ones, to be released; later ones only go up.
  Stamp first(uint64_t& place);
  Stamp next();
  // One that was given out elsewhere. Above all others it takes a place as a first one does, where `place` is none yet; below, readers
  // have passed it already and nobody is held back.
  void adopt(Stamp stamp, uint64_t& place);
  void release(uint64_t place);

  Stamp all_committed() const { return all_committed_.load(std::memory_order_acquire); }
  Stamp last() const;
  void raise(Stamp at_least);

 private:
  Stamp advance();
  void publish();

  struct Open {
    Stamp stamp;
    bool done;
  };
  base::Clock& clock_;
  mutable std::mutex mutex_;
  std::atomic<Stamp> all_committed_{1};
  Stamp last_ = 0;
  uint64_t front_place_ = 1;   // the place of open_.front()
  std::deque<Open> open_;      // in order of their stamps; done ones leave from the front
};

}  // namespace storage
