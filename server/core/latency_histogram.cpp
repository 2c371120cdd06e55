#include "server/core/latency_histogram.h"

#include <algorithm>
#include <bit>

namespace server {

namespace {

// 0, 2, 4, … 2048, 3072, 4096, 6144, …
constexpr size_t doubling = 11;  // buckets below 2048

constexpr int64_t bound(size_t bucket) {
  if (bucket == 0) return 0;
  if (bucket <= doubling) return int64_t{1} << bucket;
  const size_t behind = bucket - doubling;
  const int64_t power = int64_t{1} << (doubling + behind / 2);
  return behind % 2 == 0 ? power : power + power / 2;
}

}  // namespace

int64_t LatencyHistogram::lower_bound(size_t bucket) {
  return bound(bucket);
}

size_t LatencyHistogram::bucket_of(int64_t us) {
  if (us < 2) return 0;
  const size_t power = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(us))) - 1;
  if (power < doubling) return power;
  const bool upper_half = (us >> (power - 1) & 1) != 0;
  return std::min(buckets - 1, doubling + (power - doubling) * 2 + (upper_half ? 1 : 0));
}

void LatencyHistogram::append(bson::Builder& out, bool histogram) const {
  if (histogram) {
    auto list = out.array("histogram");
    for (size_t i = 0; i < buckets; ++i) {
      if (counts_[i] == 0) continue;
      auto bucket = list.object();
      bucket.append("micros", bound(i)).append("count", counts_[i]);
    }
  }
  out.append("latency", sum_).append("ops", ops_);
}

}  // namespace server
