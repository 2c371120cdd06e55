// The size filter leaves out small contents, which cost as much work as large
// ones and save little (dbDedup §4.3.2): the threshold is a percentile of recent
// sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "dedup/options.h"

namespace dedup {

// The filter isn't thread-safe.
class SizeFilter {
 public:
  explicit SizeFilter(const Options& options) { set_options(options); }

  // The sizes seen so far stay; a new percentile counts from the next refresh on.
  void set_options(const Options& options) {
    always_ = options.size_filter_always;
    percentile_ = options.size_filter_percentile;
    refresh_ = options.size_filter_refresh;
  }

  // Sees every content. Returns false when it should be left out.
  bool admits(uint32_t bytes);
  void set_pressure(bool pressure) { pressed_ = pressure; }

  // Returns 0 while nothing is left out.
  uint32_t threshold() const { return always_ || pressed_ ? threshold_ : 0; }

 private:
  bool always_ = false;
  bool pressed_ = false;
  uint32_t percentile_ = 0;
  uint32_t refresh_ = 0;
  uint32_t threshold_ = 0;
  std::vector<uint32_t> sizes_;  // contents since the threshold was set
};

}  // namespace dedup
