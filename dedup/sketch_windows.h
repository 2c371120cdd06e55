// Hashes of all 16-byte windows of a content, as fast as the machine's vectors
// allow. The same numbers on every machine.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "dedup/content.h"

namespace dedup {

constexpr size_t sketch_window_bytes = 16;

// A window's hash is the sum of its four words, each times its own odd multiplier,
// and an offset. The high bits of the sum know all bits of the words, so small
// hashes are a fair sample; where all bits have to count, stir_window_hash.
struct WindowHash {
  std::array<uint32_t, 4> multipliers;
  uint32_t offset;  // without it, zeros would always come first
};

// Rankings: under each, hashes are put in another order.
struct Rankings {
  std::array<uint32_t, 16> multipliers;
  std::array<uint32_t, 16> offsets;
};

// One implementation of the work. All give the same results.
struct WindowKernel {
  const char* name;

  // Appends the window hashes below `limit` to `out`, in no particular order.
  void window_hashes(BytesView content, const WindowHash& hash, uint32_t limit, std::vector<uint32_t>& out) const;
  // The first hash of each ranking, as its place there; all 0 where there are no hashes.
  std::array<uint32_t, 16> first_ranked(const std::vector<uint32_t>& hashes, const Rankings& rankings) const;

  static constexpr size_t block = 512;
  using Hashes = std::array<uint32_t, block + 16>;  // the last vector may be written in whole

  // Of the first `windows` (at most `block`) from `p` on, the hashes below the limit, in front; how many. All of a block
  // is read: block + 15 bytes.
  size_t (*block_below)(const char* p, size_t windows, const WindowHash& hash, uint32_t limit, Hashes& hashes);
  void (*rank)(const std::vector<uint32_t>& hashes, const Rankings& rankings, std::array<uint32_t, 16>& first);
};

// What this machine can do, fastest first; the last is plain scalar code.
std::span<const WindowKernel> window_kernels();

inline uint32_t stir_window_hash(uint32_t hash) {
  hash = (hash ^ hash >> 16) * 0x7feb352d;
  hash = (hash ^ hash >> 15) * 0x846ca68b;
  return hash ^ hash >> 16;
}

}  // namespace dedup
