// How hard a background thread may work while clients do.
//
// It may have all the CPU that nobody else wants. The kernel tells how long the
// thread was ready to run and had to wait: where that is much, somebody else
// wants it, and whoever that is, a client may be waiting behind him. Then the
// thread rests several times as long as it worked.
#pragma once

#include <chrono>
#include <cstdint>

namespace storage {

// For one thread. Where the kernel does not tell, nothing is known to be wanted.
class BackgroundPace {
 public:
  BackgroundPace() = default;
  ~BackgroundPace();
  BackgroundPace(const BackgroundPace&) = delete;
  BackgroundPace& operator=(const BackgroundPace&) = delete;

  // How long to rest after what was done since the last call; on the thread itself.
  std::chrono::microseconds rest();
  // The same from two readings, in nanoseconds: time run, and time ready but waiting.
  static std::chrono::microseconds rest_after(uint64_t run_ns, uint64_t waited_ns);

 private:
  bool read(uint64_t& run_ns, uint64_t& waited_ns);

  int file_ = -2;  // not yet opened
  uint64_t run_ns_ = 0, waited_ns_ = 0;
};

}  // namespace storage
