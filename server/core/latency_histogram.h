// The histogram counts latencies in the buckets that latencyStats and opLatencies show: powers of two up to 2048 µs, and two
// buckets a power beyond that.
//
// It is not thread-safe: callers hold a lock while they record.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bson/builder.h"

namespace server {

class LatencyHistogram {
 public:
  static constexpr size_t buckets = 51;
  // Returns the least latency that belongs to a bucket, in µs.
  static int64_t lower_bound(size_t bucket);
  static size_t bucket_of(int64_t us);

  void record(int64_t us) {
    ++counts_[bucket_of(us)];
    sum_ += us;
    ++ops_;
  }
  int64_t ops() const { return ops_; }
  int64_t sum_us() const { return sum_; }

  // Appends the fields `latency` and `ops`, and with `histogram` the buckets that aren't empty.
  void append(bson::Builder& out, bool histogram) const;

 private:
  int64_t sum_ = 0, ops_ = 0;
  std::array<int64_t, buckets> counts_{};
};

}  // namespace server
