// This computes the hashes of all 16-byte windows of a content, as fast as the machine's vectors allow, with the same numbers on
// every machine.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "dedup/content.h"

namespace dedup {

constexpr size_t sketch_window_bytes = 16;

// A window's hash is the sum of its four words, each times its own odd multiplier, and an offset. The
// high bits of the sum depend on all bits of the words, so small hashes are a fair sample. They don't
// identify windows: among two contents' smallest hashes, all of them near zero, two are soon equal by
// chance.
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

// Under each ranking the hashes have another order.
struct Rankings {
  std::array<uint32_t, 16> multipliers;
  std::array<uint32_t, 16> offsets;
};

// One implementation of the work; all implementations give the same results.
struct WindowKernel {
  const char* name;

  // Appends the window hashes below `limit` to `out`, in no particular order. The content is shorter than 4 GB.
  void window_hashes(BytesView content, const WindowHash& hash, uint32_t limit, WindowHashes& out) const;
  // Finds the first hash of each ranking, as its place there; all are 0 where there are no hashes.
  std::array<uint32_t, 16> first_ranked(const std::vector<uint32_t>& hashes, const Rankings& rankings) const;

  static constexpr size_t block = 512;
  using Hashes = std::array<uint32_t, block + 16>;  // the last vector may be written as a whole

  // Puts the hashes below the limit, of the first `windows` (at most `block`) from `p` on, in front, with their `places`: the
  // window at p + i has place i % 4 * block
  // 4 + i
  // 4. Returns how many. It reads all of a block: block + 15 bytes.
  size_t (*block_below)(const char* p, size_t windows, const WindowHash& hash, uint32_t limit, Hashes& hashes, Hashes& places);
  void (*rank)(const std::vector<uint32_t>& hashes, const Rankings& rankings, std::array<uint32_t, 16>& first);
};

// The implementations that this machine can run, fastest first; the last is plain scalar code.
std::span<const WindowKernel> window_kernels();

}  // namespace dedup
