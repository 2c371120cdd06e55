#include "dedup/sketch_windows.h"

namespace dedup {

namespace {

constexpr size_t lanes = 128;          // positions 4 bytes apart that are hashed side by side
constexpr size_t block = 4 * lanes;    // four such rows cover every position

using Multipliers = std::array<uint32_t, 8>;

// The window's four words, each times its own multiplier, and stirred: the low
// bits of products know little of the high bits of their factors.
[[gnu::always_inline]] inline uint32_t hash_window(const char* p, const Multipliers& m) {
  uint32_t h = base::load_le<uint32_t>(p) * m[0] + base::load_le<uint32_t>(p + 4) * m[1] +
               base::load_le<uint32_t>(p + 8) * m[2] + base::load_le<uint32_t>(p + 12) * m[3];
  h = (h ^ (h >> 15)) * m[4];
  return h ^ (h >> 16);
}

// The loops are written so that compilers turn them into vectors of any width.
[[gnu::always_inline]] inline uint32_t* hash_blocks(const char* p, size_t blocks, const Multipliers& m, uint32_t limit,
                                                    uint32_t* out) {
  alignas(64) uint32_t hashes[block];
  for (; blocks > 0; --blocks, p += block) {
    for (size_t row = 0; row < 4; ++row)
      for (size_t lane = 0; lane < lanes; ++lane) hashes[row * lanes + lane] = hash_window(p + row + 4 * lane, m);
    // Without a branch: which hashes are below the limit can't be predicted.
    for (size_t i = 0; i < block; ++i) {
      *out = hashes[i];
      out += hashes[i] < limit;
    }
  }
  return out;
}

using HashBlocks = uint32_t* (*)(const char*, size_t, const Multipliers&, uint32_t, uint32_t*);

uint32_t* hash_blocks_anywhere(const char* p, size_t blocks, const Multipliers& m, uint32_t limit, uint32_t* out) {
  return hash_blocks(p, blocks, m, limit, out);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] uint32_t* hash_blocks_avx2(const char* p, size_t blocks, const Multipliers& m, uint32_t limit,
                                                   uint32_t* out) {
  return hash_blocks(p, blocks, m, limit, out);
}
[[gnu::target("avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512")]] uint32_t* hash_blocks_avx512(
    const char* p, size_t blocks, const Multipliers& m, uint32_t limit, uint32_t* out) {
  return hash_blocks(p, blocks, m, limit, out);
}
#endif

HashBlocks best_for_this_machine() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) return hash_blocks_avx512;
  if (__builtin_cpu_supports("avx2")) return hash_blocks_avx2;
#endif
  return hash_blocks_anywhere;
}

}  // namespace

void window_hashes(BytesView content, const Multipliers& multipliers, uint32_t limit, std::vector<uint32_t>& out) {
  if (content.size() < sketch_window_bytes) return;
  static const HashBlocks hash_many = best_for_this_machine();
  const size_t windows = content.size() - sketch_window_bytes + 1;
  const size_t before = out.size();
  out.resize(before + windows + 1);  // the branchless store writes one ahead
  const size_t blocks = windows / block;
  uint32_t* end = hash_many(content.data(), blocks, multipliers, limit, out.data() + before);
  for (size_t at = blocks * block; at < windows; ++at) {
    *end = hash_window(content.data() + at, multipliers);
    end += *end < limit;
  }
  out.resize(static_cast<size_t>(end - out.data()));
}

}  // namespace dedup
