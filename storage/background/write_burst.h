// This class decides whether new contents are encoded now, or stay in the queue until the clients' burst of writes is over.
//
// During a burst a client pays for a copy into the queue. When the queue has no room the client pays nothing: the background
// reads those contents back later, most of them from memory. After some seconds of a burst the encoder starts although clients go
// on writing, and it works until it has caught up.
#pragma once

#include <cstddef>
#include <cstdint>

namespace storage {

// An object serves one thread.
class WriteBurst {
 public:
  static constexpr int64_t idle_us = 20'000;  // A burst is over when no client wrote for this long.
  static constexpr int64_t waits_us_max = 3'000'000;
  static constexpr size_t caught_up = 64;  // The encoder has caught up when at most this many works wait.

  struct Waiting {
    size_t count = 0;
    bool behind = false;  // Clients wrote more than the queue can name, so collections have to be read through.
  };

  // This function returns whether waiting contents should stay in the queue. `now_us` is the time of a monotonic clock, and
  // `written_us` is the time of a client's last write.
  bool lasts(int64_t now_us, int64_t written_us, const Waiting& waiting) {
    if (now_us - written_us > idle_us) {
      over(now_us);
      return false;
    }
    if (catching_up_ && waiting.count <= caught_up && !waiting.behind) over(now_us);
    if (waiting.behind || now_us - begun_us_ > waits_us_max) catching_up_ = true;
    return !catching_up_;
  }
  // The burst is over: nothing waits, and the next write begins another burst.
  void over(int64_t now_us) {
    catching_up_ = false;
    begun_us_ = now_us;
  }

 private:
  bool catching_up_ = false;
  int64_t begun_us_ = 0;
};

}  // namespace storage
