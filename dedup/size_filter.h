// The size filter leaves out small contents, which cost as much work as large
// ones and save little (dbDedup §4.3.2): the threshold is a percentile of the
// sizes seen lately.
#pragma once

#include <cstdint>
#include <vector>

#include "dedup/options.h"

namespace dedup {

// Not thread-safe.
class SizeFilter {
 public:
  explicit SizeFilter(const Options& options) : options_(options), active_(options.size_filter_always) {}

  // Sees every content; false: leave it out.
  bool admits(uint32_t bytes);
  void set_pressure(bool pressure) { active_ = options_.size_filter_always || pressure; }

  // 0 while nothing is left out.
  uint32_t threshold() const { return active_ ? threshold_ : 0; }

 private:
  const Options options_;
  bool active_;
  uint32_t threshold_ = 0;
  std::vector<uint32_t> sizes_;  // since the threshold was set
};

}  // namespace dedup
