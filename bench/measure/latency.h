// The latency of many operations is summed up by three of them.
#pragma once

#include <algorithm>
#include <vector>

namespace bench {

struct Latency {
  double p50_us = 0, p99_us = 0, most_us = 0;
};

// The latency of nothing is 0.
inline Latency latency_of(std::vector<float> all_us) {
  if (all_us.empty()) return {};
  std::sort(all_us.begin(), all_us.end());
  return {all_us[all_us.size() / 2], all_us[all_us.size() * 99 / 100], all_us.back()};
}

}  // namespace bench
