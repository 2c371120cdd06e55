// Latencies in the buckets that latencyStats and opLatencies show: powers of two to 2048 µs, two a power behind that.
//
// Not thread-safe: who records holds a lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bson/builder.h"

namespace server {

class LatencyHistogram {
 public:
  static constexpr size_t buckets = 51;
  // The least latency that belongs to a bucket, in µs.
  static int64_t lower_bound(size_t bucket);
  static size_t bucket_of(int64_t us);

  void record(int64_t us) {
    ++counts_[bucket_of(us)];
    sum_ += us;
    ++ops_;
  }
  int64_t ops() const { return ops_; }
  int64_t sum_us() const { return sum_; }

  // Appends the fields `histogram` (where asked for: the buckets that have something), `latency` and `ops`.
  void append(bson::Builder& out, bool histogram) const;

 private:
  int64_t sum_ = 0, ops_ = 0;
  std::array<int64_t, buckets> counts_{};
};

}  // namespace server
