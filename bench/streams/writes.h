// Writes are inserts at a steady rate, with consecutive numbers as _id, acknowledged by the majority.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

namespace bench::streams {

inline constexpr const char* database = "bench";
inline constexpr const char* collection = "events";

class Writes {
 public:
  using Clock = std::chrono::steady_clock;

  // Makes room for so many.
  explicit Writes(size_t most) : acknowledged_(most) {}

  // Inserts documents of `bytes` on `connections` until all are acknowledged that fall due within the time. A rate that the
  // server doesn't keep up with makes them late, not fewer. Returns how many there are now. Throws std::runtime_error.
  size_t run(const std::string& address, size_t connections, double per_second, std::chrono::duration<double> time, size_t bytes);

  // Returns when the insert was acknowledged; the clock's beginning: not yet. Any thread may call it.
  Clock::time_point acknowledged(size_t number) const {
    return Clock::time_point(Clock::duration(acknowledged_[number].load(std::memory_order_acquire)));
  }

 private:
  std::vector<std::atomic<Clock::rep>> acknowledged_;
  size_t count_ = 0;
};

}  // namespace bench::streams
