// Whether what clients write is encoded now, or left in the queue until their burst is over.
//
// A burst costs its clients a copy into the queue and nothing else while the queue has room and it doesn't last: then
// the encoder comes on, whoever goes on writing, until it has caught up.
#pragma once

#include <cstddef>
#include <cstdint>

namespace storage {

// For one thread.
class WriteBurst {
 public:
  static constexpr int64_t idle_us = 20'000;       // without a client's write it is over
  static constexpr int64_t waits_us_max = 10'000'000;
  static constexpr size_t caught_up = 64;          // works left, at most
  static constexpr size_t room_eighths = 7;        // of the queue's room; behind that only names would wait, and be read back

  // What waits in the queue, what it may hold, and whether some has to be read back already because it was full.
  struct Waiting {
    size_t count, bytes, count_max, bytes_max;
    bool behind;
  };

  // Whether to leave them there, at `now_us` of a monotonic clock and with a client's last write at `written_us`.
  bool lasts(int64_t now_us, int64_t written_us, const Waiting& waiting) {
    if (now_us - written_us > idle_us) {
      over(now_us);
      return false;
    }
    if (catching_up_ && waiting.count <= caught_up && !waiting.behind) over(now_us);
    const bool full = waiting.bytes > waiting.bytes_max / 8 * room_eighths || waiting.count > waiting.count_max / 8 * room_eighths;
    if (full || waiting.behind || now_us - begun_us_ > waits_us_max) catching_up_ = true;
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
