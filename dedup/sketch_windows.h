// Hashes of all 16-byte windows of a content, as fast as the machine's vectors
// allow. The same numbers on every machine.
#pragma once

#include <array>
#include <vector>

#include "dedup/content.h"

namespace dedup {

constexpr size_t sketch_window_bytes = 16;

// Appends the window hashes below `limit` to `out`, in no particular order.
void window_hashes(BytesView content, const std::array<uint32_t, 8>& multipliers, uint32_t limit,
                   std::vector<uint32_t>& out);

// Rankings: under each, the hashes below `limit` are put in another order.
struct Rankings {
  std::array<uint32_t, 16> multipliers;
  std::array<uint32_t, 16> offsets;
};

// The first hash of each ranking, as its place there; all 0 where no hash is below.
std::array<uint32_t, 16> first_ranked(const std::vector<uint32_t>& hashes, uint32_t limit, const Rankings& rankings);

}  // namespace dedup
