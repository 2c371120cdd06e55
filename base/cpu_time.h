// The processor time of this thread, which other programs on the machine don't change.
#pragma once

#include <ctime>

namespace base {

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

// Returns the seconds of the fastest of `rounds` runs of `work`: it was disturbed least.
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

}  // namespace base
