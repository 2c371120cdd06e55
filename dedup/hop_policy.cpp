#include "dedup/hop_policy.h"

namespace dedup {

uint32_t HopPolicy::levels(uint32_t ordinal) const {
  if (distance_ < 2 || ordinal == 0) return 0;
  uint32_t levels = 0;
  for (; ordinal % distance_ == 0 && levels < levels_max_; ordinal /= distance_) ++levels;
  return levels;
}

std::vector<uint32_t> HopPolicy::re_encoded(uint32_t ordinal) const {
  std::vector<uint32_t> bases;
  uint32_t interval = 1;
  for (uint32_t level = levels(ordinal); level > 0; --level) bases.push_back(ordinal - (interval *= distance_));
  return bases;
}

uint32_t HopPolicy::levels_known(uint32_t ordinal) const {
  if (distance_ < 2) return 0;
  uint32_t levels = 1;
  for (; ordinal >= distance_ && levels < levels_max_; ordinal /= distance_) ++levels;
  return levels;
}

}  // namespace dedup
