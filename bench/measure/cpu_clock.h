// CPU time of this thread is measured, because other programs on the machine don't change it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/cpu_time.h"

namespace bench {

using base::CpuWatch;
using base::least_cpu_seconds;
using base::thread_cpu_seconds;

// The median of nothing is 0.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Returns the CPU seconds of one call, the median of so many; `work` is given its number.
template <class Work>
double median_cpu_seconds(size_t calls, Work&& work) {
  std::vector<double> all;
  for (size_t i = 0; i < calls; ++i) {
    const CpuWatch watch;
    work(i);
    all.push_back(watch.seconds());
  }
  return median(std::move(all));
}

}  // namespace bench
