#include "dedup/sketch_windows.h"

#include <algorithm>
#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
// clang knows no width here and picks its own.
#if defined(__clang__)
#define PALIMPSEST_AVX512 "avx512f,avx512dq,avx512bw,avx512vl"
#else
#define PALIMPSEST_AVX512 "avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512"
#endif
#endif

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

using Hashes = std::array<uint32_t, block>;

// Written so that compilers turn it into vectors of any width.
[[gnu::always_inline]] inline void hash_block(const char* p, const Multipliers& m, Hashes& hashes) {
  for (size_t row = 0; row < 4; ++row)
    for (size_t lane = 0; lane < lanes; ++lane) hashes[row * lanes + lane] = hash_window(p + row + 4 * lane, m);
}

// Moves the hashes below the limit to the front. Without a branch: which they are
// can't be predicted.
[[gnu::always_inline]] inline size_t keep_below(uint32_t limit, Hashes& hashes) {
  size_t kept = 0;
  for (const uint32_t hash : hashes) {
    hashes[kept] = hash;
    kept += hash < limit;
  }
  return kept;
}

using First = std::array<uint32_t, 16>;

[[gnu::always_inline]] inline void rank_all(const std::vector<uint32_t>& hashes, uint32_t limit, const Rankings& rankings,
                                            First& result) {
  alignas(64) First multipliers = rankings.multipliers, offsets = rankings.offsets, first{};
  for (const uint32_t hash : hashes) {
    if (hash >= limit) continue;
    for (size_t i = 0; i < first.size(); ++i) {
      const uint32_t rank = hash * multipliers[i] + offsets[i];
      first[i] = std::max(first[i], rank ^ rank >> 15);
    }
  }
  result = first;
}

void rank_all_anywhere(const std::vector<uint32_t>& hashes, uint32_t limit, const Rankings& rankings, First& first) {
  rank_all(hashes, limit, rankings, first);
}

size_t hash_and_keep_anywhere(const char* p, const Multipliers& m, uint32_t limit, Hashes& hashes) {
  hash_block(p, m, hashes);
  return keep_below(limit, hashes);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] size_t hash_and_keep_avx2(const char* p, const Multipliers& m, uint32_t limit, Hashes& hashes) {
  hash_block(p, m, hashes);
  return keep_below(limit, hashes);
}
[[gnu::target("avx2")]] void rank_all_avx2(const std::vector<uint32_t>& hashes, uint32_t limit, const Rankings& rankings,
                                           First& first) {
  rank_all(hashes, limit, rankings, first);
}

[[gnu::target(PALIMPSEST_AVX512)]] size_t hash_and_keep_avx512(
    const char* p, const Multipliers& m, uint32_t limit, Hashes& hashes) {
  hash_block(p, m, hashes);
  const __m512i limits = _mm512_set1_epi32(static_cast<int>(limit));
  size_t kept = 0;
  for (size_t i = 0; i < block; i += 16) {
    const __m512i some = _mm512_loadu_si512(&hashes[i]);
    const __mmask16 below = _mm512_cmplt_epu32_mask(some, limits);
    _mm512_storeu_si512(&hashes[kept], _mm512_maskz_compress_epi32(below, some));
    kept += static_cast<size_t>(std::popcount(static_cast<unsigned>(below)));
  }
  return kept;
}
#endif

// What this machine does best.
struct Kernels {
  size_t (*hash_and_keep)(const char*, const Multipliers&, uint32_t, Hashes&) = hash_and_keep_anywhere;
  void (*rank_all)(const std::vector<uint32_t>&, uint32_t, const Rankings&, First&) = rank_all_anywhere;

  Kernels() {
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2")) return;
    hash_and_keep = hash_and_keep_avx2;
    rank_all = rank_all_avx2;
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
      hash_and_keep = hash_and_keep_avx512;
#endif
  }
};
const Kernels kernels;

}  // namespace

void window_hashes(BytesView content, const Multipliers& multipliers, uint32_t limit, std::vector<uint32_t>& out) {
  if (content.size() < sketch_window_bytes) return;
  const size_t windows = content.size() - sketch_window_bytes + 1;
  alignas(64) Hashes hashes;
  size_t at = 0;
  for (; at + block <= windows; at += block) {
    const size_t kept = kernels.hash_and_keep(content.data() + at, multipliers, limit, hashes);
    out.insert(out.end(), hashes.begin(), hashes.begin() + static_cast<ptrdiff_t>(kept));
  }
  for (; at < windows; ++at)
    if (const uint32_t hash = hash_window(content.data() + at, multipliers); hash < limit) out.push_back(hash);
}

std::array<uint32_t, 16> first_ranked(const std::vector<uint32_t>& hashes, uint32_t limit, const Rankings& rankings) {
  First first{};
  kernels.rank_all(hashes, limit, rankings, first);
  return first;
}

}  // namespace dedup
