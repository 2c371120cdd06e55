#include "base/counters.h"

#include <cmath>

namespace base {

uint64_t Histogram::upper_edge(size_t bucket) {
  if (bucket < 8) return bucket;
  const int top = static_cast<int>(bucket >> fine_bits) + fine_bits - 1;
  const uint64_t step = uint64_t{1} << (top - fine_bits);
  return ((8 + (bucket & 7)) * step) + step - 1;
}

uint64_t Histogram::quantile(double q) const {
  const uint64_t total = count();
  if (total == 0) return 0;
  const auto rank = static_cast<uint64_t>(std::ceil(q * static_cast<double>(total)));
  uint64_t seen = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i].load(std::memory_order_relaxed);
    if (seen >= rank) return upper_edge(i);
  }
  return upper_edge(buckets_.size() - 1);
}

}  // namespace base
