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
// hashes are a fair sample. They are no names: of two contents' smallest hashes,
// all of them near zero, two are soon equal by chance.
struct WindowHash {
  std::array<uint32_t, 4> multipliers;
  uint32_t offset;  // without it, zeros would always come first
};

struct WindowHashes {
  void clear() {
    hashes.clear();
    positions.clear();
  }
  std::vector<uint32_t> hashes;
  std::vector<uint32_t> positions;  // where each window begins
};

// Rankings: under each, hashes are put in another order.
struct Rankings {
  std::array<uint32_t, 16> multipliers;
  std::array<uint32_t, 16> offsets;
};

// One implementation of the work. All give the same results.
struct WindowKernel {
  const char* name;

  // Appends the window hashes below `limit` to `out`, in no particular order. The content is shorter than 4 GB.
  void window_hashes(BytesView content, const WindowHash& hash, uint32_t limit, WindowHashes& out) const;
  // The first hash of each ranking, as its place there; all 0 where there are no hashes.
  std::array<uint32_t, 16> first_ranked(const std::vector<uint32_t>& hashes, const Rankings& rankings) const;

  static constexpr size_t block = 512;
  using Hashes = std::array<uint32_t, block + 16>;  // the last vector may be written in whole

  // Of the first `windows` (at most `block`) from `p` on, the hashes below the limit, in front, and their `places`: the
  // window at p + i has place i % 4 * block / 4 + i / 4. Returns how many. All of a block is read: block + 15 bytes.
  size_t (*block_below)(const char* p, size_t windows, const WindowHash& hash, uint32_t limit, Hashes& hashes, Hashes& places);
  void (*rank)(const std::vector<uint32_t>& hashes, const Rankings& rankings, std::array<uint32_t, 16>& first);
};

// What this machine can do, fastest first; the last is plain scalar code.
std::span<const WindowKernel> window_kernels();

}  // namespace dedup
