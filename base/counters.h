// Any thread may add to these counters, and any thread may read them.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace base {

class Counter {
 public:
  void add(int64_t amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  void set(int64_t value) { value_.store(value, std::memory_order_relaxed); }
  int64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// A histogram counts latencies or sizes in buckets of one eighth of a power of two, so quantiles are within 12 % of the truth. It
// is thread-safe.
class Histogram {
 public:
  void record(uint64_t value) {
    buckets_[bucket(value)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
    count_.fetch_add(1, std::memory_order_relaxed);
  }
  uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  uint64_t sum() const { return sum_.load(std::memory_order_relaxed); }

  // Returns the upper edge of the bucket that holds the q-th value, 0 < q <= 1; 0 when the histogram is empty.
  uint64_t quantile(double q) const;

 private:
  static constexpr int fine_bits = 3;
  static constexpr size_t bucket(uint64_t value) {
    if (value < 8) return value;
    const int top = 63 - std::countl_zero(value);
    return (static_cast<size_t>(top - fine_bits + 1) << fine_bits) + ((value >> (top - fine_bits)) & 7);
  }
  static uint64_t upper_edge(size_t bucket);

  std::array<std::atomic<uint64_t>, 512> buckets_{};
  std::atomic<uint64_t> sum_{0};
  std::atomic<uint64_t> count_{0};
};

}  // namespace base
