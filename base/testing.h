// Tests of several folders share these: waiting for a condition, errors as values, seeds that can be repeated, and a clock that
// stands still.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/error.h"

namespace base::testing {

// Far longer than anything takes on a slow machine: only a hang reaches it.
inline constexpr std::chrono::seconds deadline{120};

// Waits until the condition holds. False: it doesn't by the deadline.
template <typename Condition>
bool wait_until(Condition holds) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// Returns the error that the work throws, and its text; ErrorCode::ok: none.
template <typename Work>
ErrorCode error_of(Work&& work, std::string* message = nullptr) {
  try {
    work();
  } catch (const OperationError& error) {
    if (message) *message = error.what();
    return error.code();
  }
  return ErrorCode::ok;
}
// The same as a number; 0: none.
template <typename Work>
int code_of(Work&& work) {
  return static_cast<int>(error_of(work));
}

// True when a test of this process has asked for the seed: only then is it worth printing.
inline std::atomic<bool> seed_was_used{false};

// The seed of this process's random tests: new in each run, or the environment's PALIMPSEST_TEST_SEED. Test programs print it
// where a test fails. Thread-safe.
inline uint64_t seed() {
  static const uint64_t value = [] {
    const char* given = std::getenv("PALIMPSEST_TEST_SEED");
    return given ? std::strtoull(given, nullptr, 10) : uint64_t{std::random_device()()};
  }();
  seed_was_used = true;
  return value;
}

// A clock that the test sets. Thread-safe.
class StoppedClock final : public Clock {
 public:
  explicit StoppedClock(int64_t wall_ms = 1'700'000'000'000) : wall_us_(wall_ms * 1000) {}
  int64_t wall_ms() const override { return wall_us_ / 1000; }
  int64_t monotonic_us() const override { return monotonic_us_; }

  // Both times go on by as much.
  void advance(std::chrono::microseconds by) {
    wall_us_ += by.count();
    monotonic_us_ += by.count();
  }
  // Acts as somebody who sets the machine's clock, maybe back.
  void set_wall_ms(int64_t wall_ms) { wall_us_ = wall_ms * 1000; }

 private:
  std::atomic<int64_t> wall_us_;
  std::atomic<int64_t> monotonic_us_{1'000'000};
};

}  // namespace base::testing
