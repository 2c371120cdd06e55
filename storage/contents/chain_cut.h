// These functions decide where a chain is cut. Some contents stay whole, so that a read of any other content is bounded in
// bytes and hops (dbDedup §4.1.2 bounds only the hops).
#pragma once

#include <algorithm>

#include "dedup/encoder.h"

namespace storage {

struct ChainBounds {
  size_t read_bytes_max;  // bytes that a read of the oldest content decodes at worst
  uint32_t hops_max;
};
inline ChainBounds bounds_of(const dedup::Options& options) {
  return {options.read_bytes_max, options.read_hops_max};
}

// Returns how many deltas a read applies at worst in a chain of this length: it walks each level of hops once.
inline uint64_t hops_at_worst(uint32_t ordinal, uint32_t hop_distance) {
  if (hop_distance < 2) return ordinal;
  uint64_t hops = 0;
  for (uint64_t reach = 1; reach <= ordinal; reach *= hop_distance) hops += hop_distance - 1;
  return std::min<uint64_t>(hops, ordinal);
}

// Returns true when the store must ignore this advice, because the chain is too long already and the target is where it is cut.
inline bool cuts_chain(const dedup::Backward& backward, uint32_t hop_distance, const ChainBounds& bounds) {
  const uint64_t hops = hops_at_worst(backward.base_placement.ordinal, hop_distance);
  const size_t bytes = std::max<size_t>(backward.target_bytes, 1);
  if (hops <= bounds.hops_max && hops * bytes <= bounds.read_bytes_max) return false;
  const uint64_t every = std::max<uint64_t>(4, std::min<uint64_t>(bounds.hops_max, bounds.read_bytes_max / bytes));
  return backward.target_placement.ordinal % every == every - 1;
}

}  // namespace storage
