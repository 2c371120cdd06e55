// Whether what clients write is encoded now, or left in the queue until their burst is over.
//
// A burst costs its clients a copy into the queue, and nothing at all where that has no room: those contents are read back later,
// most of them from memory. It may last some seconds: then the encoder comes on, whoever goes on writing, until it has caught up.
#pragma once

#include <cstddef>
#include <cstdint>

namespace storage {

// For one thread.
class WriteBurst {
 public:
  static constexpr int64_t idle_us = 20'000;  // without a client's write it is over
  static constexpr int64_t waits_us_max = 3'000'000;
  static constexpr size_t caught_up = 64;  // works left, at most

  struct Waiting {
    size_t count;
    bool behind;  // more wrote than the queue can name: collections have to be read through
  };

  // Whether to leave them there, at `now_us` of a monotonic clock and with a client's last write at `written_us`.
  bool lasts(int64_t now_us, int64_t written_us, const Waiting& waiting) {
    if (now_us - written_us > idle_us) {
      over(now_us);
      return false;
    }
    if (catching_up_ && waiting.count <= caught_up && !waiting.behind) over(now_us);
    if (waiting.behind || now_us - begun_us_ > waits_us_max) catching_up_ = true;
    return !catching_up_;
  }
  // Nothing waits; what comes is the next one.
  void over(int64_t now_us) {
    catching_up_ = false;
    begun_us_ = now_us;
  }

 private:
  bool catching_up_ = false;
  int64_t begun_us_ = 0;
};

}  // namespace storage
