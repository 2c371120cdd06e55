// This class decides how hard a background thread may work while clients work.
//
// The thread may use all the CPU that nobody else wants. The kernel reports how long the thread was ready to run and had to wait.
// When that time is long, another thread wants the CPU, and a client may be waiting for it. Then the background thread rests
// several times as long as it worked.
#pragma once

#include <chrono>
#include <cstdint>

namespace storage {

// An object serves one thread. If the kernel doesn't report waiting times, the class assumes that nobody else wants the CPU.
class BackgroundPace {
 public:
  BackgroundPace() = default;
  ~BackgroundPace();
  BackgroundPace(const BackgroundPace&) = delete;
  BackgroundPace& operator=(const BackgroundPace&) = delete;

  // This function returns how long the thread should rest after the work that it did since the last call. The thread itself must
  // call it.
  std::chrono::microseconds rest();
  // This function computes the same from two readings in nanoseconds: the time that the thread ran, and the time that it was
  // ready but waited.
  static std::chrono::microseconds rest_after(uint64_t run_ns, uint64_t waited_ns);

 private:
  bool read(uint64_t& run_ns, uint64_t& waited_ns);

  int file_ = -2;  // -2 means that the file isn't opened yet.
  uint64_t run_ns_ = 0, waited_ns_ = 0;
};

}  // namespace storage
