// CPU time of this thread is measured, because other programs on the machine don't change it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <utility>
#include <vector>

namespace bench {

inline double thread_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class CpuWatch {
 public:
  double seconds() const { return thread_cpu_seconds() - begun_; }

 private:
  double begun_ = thread_cpu_seconds();
};

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

// Returns the CPU seconds of the fastest of `rounds` runs of `work`: it was disturbed least.
template <class Work>
double least_cpu_seconds(int rounds, Work&& work) {
  double least = 1e300;
  for (int i = 0; i < rounds; ++i) {
    const CpuWatch watch;
    work();
    if (const double seconds = watch.seconds(); seconds < least) least = seconds;
  }
  return least;
}

}  // namespace bench
