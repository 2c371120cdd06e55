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
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__GNUC__) && !defined(__clang__)
#define PALIMPSEST_SCALAR [[gnu::optimize("no-tree-vectorize")]]
#else
#define PALIMPSEST_SCALAR
#endif

namespace dedup {

namespace {

constexpr size_t block = WindowKernel::block;
constexpr size_t lanes = block / 4;  // positions 4 bytes apart are hashed side by side; four such rows cover all

using Hashes = WindowKernel::Hashes;
using First = std::array<uint32_t, 16>;

[[gnu::always_inline]] inline uint32_t hash_window(const char* p, const WindowHash& hash) {
  const auto& m = hash.multipliers;
  return base::load_le<uint32_t>(p) * m[0] + base::load_le<uint32_t>(p + 4) * m[1] + base::load_le<uint32_t>(p + 8) * m[2] +
         base::load_le<uint32_t>(p + 12) * m[3] + hash.offset;
}

// The loop is written so that compilers turn it into vectors of any width.
[[gnu::always_inline]] inline void hash_block(const char* p, size_t windows, const WindowHash& hash, Hashes& hashes) {
  for (size_t row = 0; row < 4; ++row)
    for (size_t lane = 0; lane < lanes; ++lane) hashes[row * lanes + lane] = hash_window(p + row + 4 * lane, hash);
  for (size_t at = windows; at < block; ++at) hashes[at % 4 * lanes + at / 4] = UINT32_MAX;  // all: below no limit
}

[[gnu::always_inline]] inline void rank_all(const std::vector<uint32_t>& hashes, const Rankings& rankings, First& result) {
  alignas(64) First multipliers = rankings.multipliers, offsets = rankings.offsets, first{};
  for (const uint32_t hash : hashes) {
    const uint32_t stirred = hash ^ hash >> 15;
    for (size_t i = 0; i < first.size(); ++i) {
      const uint32_t rank = stirred * multipliers[i] + offsets[i];
      first[i] = std::max(first[i], rank ^ rank >> 15);
    }
  }
  result = first;
}

// Moves the hashes below the limit to the front. It doesn't branch, because which ones they are can't be
// predicted.
[[gnu::always_inline]] inline size_t keep_below(uint32_t limit, Hashes& hashes, Hashes& places) {
  size_t kept = 0;
  for (size_t i = 0; i < block; ++i) {
    const uint32_t hash = hashes[i];
    hashes[kept] = hash;
    places[kept] = static_cast<uint32_t>(i);
    kept += hash < limit;
  }
  return kept;
}

// --- the twin the others are compared with

PALIMPSEST_SCALAR size_t block_below_scalar(const char* p, size_t windows, const WindowHash& hash, uint32_t limit, Hashes& hashes,
                                            Hashes& places) {
  size_t kept = 0;
  for (size_t i = 0; i < windows; ++i)
    if (const uint32_t one = hash_window(p + i, hash); one < limit) {
      hashes[kept] = one;
      places[kept++] = static_cast<uint32_t>(i % 4 * lanes + i / 4);
    }
  return kept;
}
PALIMPSEST_SCALAR void rank_scalar(const std::vector<uint32_t>& hashes, const Rankings& rankings, First& first) {
  rank_all(hashes, rankings, first);
}

// --- what every machine of the architecture has: SSE2, NEON

size_t block_below_anywhere(const char* p, size_t windows, const WindowHash& hash, uint32_t limit, Hashes& hashes,
                            Hashes& places) {
  hash_block(p, windows, hash, hashes);
  return keep_below(limit, hashes, places);
}
void rank_anywhere(const std::vector<uint32_t>& hashes, const Rankings& rankings, First& first) {
  rank_all(hashes, rankings, first);
}

#if defined(__x86_64__)
[[gnu::target("avx2,bmi")]] size_t block_below_avx2(const char* p, size_t windows, const WindowHash& hash, uint32_t limit,
                                                    Hashes& hashes, Hashes& places) {
  hash_block(p, windows, hash, hashes);
  // There is no unsigned compare: both sides are moved by 2^31.
  const __m256i half = _mm256_set1_epi32(INT32_MIN);
  const __m256i limits = _mm256_set1_epi32(static_cast<int>(limit ^ 0x80000000u));
  size_t kept = 0;
  for (size_t i = 0; i < block; i += 64) {
    uint64_t below = 0;
    for (size_t j = 0; j < 64; j += 8) {
      const __m256i some = _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(&hashes[i + j])), half);
      const auto mask = static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(limits, some))));
      below |= uint64_t{mask} << j;
    }
    for (; below; below &= below - 1) {
      const size_t place = i + static_cast<size_t>(std::countr_zero(below));
      hashes[kept] = hashes[place];
      places[kept++] = static_cast<uint32_t>(place);
    }
  }
  return kept;
}
[[gnu::target("avx2")]] void rank_avx2(const std::vector<uint32_t>& hashes, const Rankings& rankings, First& first) {
  rank_all(hashes, rankings, first);
}

[[gnu::target(PALIMPSEST_AVX512)]] size_t block_below_avx512(const char* p, size_t windows, const WindowHash& hash,
                                                             uint32_t limit, Hashes& hashes, Hashes& places) {
  hash_block(p, windows, hash, hashes);
  const __m512i limits = _mm512_set1_epi32(static_cast<int>(limit));
  __m512i place = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  size_t kept = 0;
  for (size_t i = 0; i < block; i += 16, place = _mm512_add_epi32(place, _mm512_set1_epi32(16))) {
    const __m512i some = _mm512_loadu_si512(&hashes[i]);
    const __mmask16 below = _mm512_cmplt_epu32_mask(some, limits);
    _mm512_storeu_si512(&hashes[kept], _mm512_maskz_compress_epi32(below, some));
    _mm512_storeu_si512(&places[kept], _mm512_maskz_compress_epi32(below, place));
    kept += static_cast<size_t>(std::popcount(static_cast<unsigned>(below)));
  }
  return kept;
}
[[gnu::target(PALIMPSEST_AVX512)]] void rank_avx512(const std::vector<uint32_t>& hashes, const Rankings& rankings, First& first) {
  rank_all(hashes, rankings, first);
}
#elif defined(__aarch64__)
size_t block_below_neon(const char* p, size_t windows, const WindowHash& hash, uint32_t limit, Hashes& hashes, Hashes& places) {
  hash_block(p, windows, hash, hashes);
  const uint32x4_t limits = vdupq_n_u32(limit);
  size_t kept = 0;
  for (size_t i = 0; i < block; i += 16) {
    const auto two = [&](size_t at) {
      return vcombine_u16(vmovn_u32(vcltq_u32(vld1q_u32(&hashes[at]), limits)),
                          vmovn_u32(vcltq_u32(vld1q_u32(&hashes[at + 4]), limits)));
    };
    const uint8x16_t lanes_below = vcombine_u8(vmovn_u16(two(i)), vmovn_u16(two(i + 8)));
    // Each lane has four bits, of which one is taken.
    uint64_t below =
        vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(lanes_below), 4)), 0) & 0x1111111111111111;
    for (; below; below &= below - 1) {
      const size_t place = i + static_cast<size_t>(std::countr_zero(below)) / 4;
      hashes[kept] = hashes[place];
      places[kept++] = static_cast<uint32_t>(place);
    }
  }
  return kept;
}
#endif

}  // namespace

std::span<const WindowKernel> window_kernels() {
  static const std::vector<WindowKernel> kernels = [] {
    std::vector<WindowKernel> usable;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
      usable.push_back({"avx512", block_below_avx512, rank_avx512});
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi")) usable.push_back({"avx2", block_below_avx2, rank_avx2});
#elif defined(__aarch64__)
    usable.push_back({"neon", block_below_neon, rank_anywhere});
#endif
    usable.push_back({"baseline", block_below_anywhere, rank_anywhere});
    usable.push_back({"scalar", block_below_scalar, rank_scalar});
    return usable;
  }();
  return kernels;
}

void WindowKernel::window_hashes(BytesView content, const WindowHash& hash, uint32_t limit, WindowHashes& out) const {
  if (content.size() < sketch_window_bytes) return;
  const size_t windows = content.size() - sketch_window_bytes + 1;
  alignas(64) Hashes hashes;
  alignas(64) Hashes places;
  const auto one_block = [&](const char* p, size_t count, size_t from) {
    const size_t kept = block_below(p, count, hash, limit, hashes, places);
    out.hashes.insert(out.hashes.end(), hashes.begin(), hashes.begin() + static_cast<ptrdiff_t>(kept));
    out.positions.resize(out.hashes.size());
    uint32_t* const positions = out.positions.data() + out.positions.size() - kept;
    for (size_t i = 0; i < kept; ++i) positions[i] = static_cast<uint32_t>(from) + places[i] % lanes * 4 + places[i] / lanes;
  };
  size_t at = 0;
  for (; at + block <= windows; at += block) one_block(content.data() + at, block, at);
  if (at == windows) return;
  std::array<char, block + sketch_window_bytes> rest{};
  std::memcpy(rest.data(), content.data() + at, content.size() - at);
  one_block(rest.data(), windows - at, at);
}

std::array<uint32_t, 16> WindowKernel::first_ranked(const std::vector<uint32_t>& hashes, const Rankings& rankings) const {
  First first{};
  rank(hashes, rankings, first);
  return first;
}

}  // namespace dedup
