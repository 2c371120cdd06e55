// The hop policy (dbDedup §4.1.2) says which content is re-encoded against which, so that reading far back in a chain takes few
// steps.
//
//   H = 4    0 - 1 - 2 - 3 - 4 - 5 - 6 - 7 - 8 - ...     each content against the next
//            '---------------'---------------'           multiples of 4 against the next such
//            '----------------------------------------   multiples of 16 against the next such
//
// A base always has a higher ordinal. Going up to ever higher levels and down again to
// the newest takes at most H-1 steps a level in each direction: for a chain of N
// contents at most 2 (H-1) ceil(log_H N), which is more than the H + log_H N of the
// thesis's Table 4.1.
#pragma once

#include <cstdint>
#include <vector>

namespace dedup {

class HopPolicy {
 public:
  // A distance below 2 means plain backward encoding. There are `levels_max` levels at most.
  explicit HopPolicy(uint32_t distance, uint32_t levels_max = 32) : distance_(distance), levels_max_(levels_max) {}

  // Returns the number of levels that a content is a hop base of: 0 for most, 1 for multiples of H ...
  uint32_t levels(uint32_t ordinal) const;

  // Returns the ordinals that get `ordinal` as their base when it arrives, besides its predecessor: [level - 1] is the level's
  // previous hop base.
  std::vector<uint32_t> re_encoded(uint32_t ordinal) const;

  // Returns how many levels have a hop base once `ordinal` has arrived (the first content of a chain is a base of every level).
  // Level l's latest is a multiple of H^l.
  uint32_t levels_known(uint32_t ordinal) const;

 private:
  uint32_t distance_;
  uint32_t levels_max_;
};

}  // namespace dedup
