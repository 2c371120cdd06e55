#include "dedup/agree.h"

#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace dedup {

namespace {

using base::load_le;

// Compares the rest that fills no vector.
[[gnu::always_inline]] inline size_t forward_words(const char* a, const char* b, size_t n, size_t bytes_max) {
  for (; n + 8 <= bytes_max; n += 8) {
    const uint64_t difference = load_le<uint64_t>(a + n) ^ load_le<uint64_t>(b + n);
    if (difference) return n + static_cast<size_t>(std::countr_zero(difference)) / 8;
  }
  while (n < bytes_max && a[n] == b[n]) ++n;
  return n;
}

[[gnu::always_inline]] inline size_t backward_words(const char* a, const char* b, size_t n, size_t bytes_max) {
  for (; n + 8 <= bytes_max; n += 8) {
    const uint64_t difference = load_le<uint64_t>(a - n - 8) ^ load_le<uint64_t>(b - n - 8);
    if (difference) return n + static_cast<size_t>(std::countl_zero(difference)) / 8;
  }
  while (n < bytes_max && a[-1 - static_cast<ptrdiff_t>(n)] == b[-1 - static_cast<ptrdiff_t>(n)]) ++n;
  return n;
}

[[gnu::always_inline]] inline size_t find_key_from(const char* bytes, size_t at, size_t places, uint64_t key) {
  while (at < places && load_le<uint64_t>(bytes + at) != key) ++at;
  return at;
}

uint32_t equal_anywhere(const char* a, const char* b) {
  uint32_t set = 0;
  for (size_t i = 0; i < equal_bytes; ++i) set |= uint32_t{a[i] == b[i]} << i;
  return set;
}

void note(KeyPlaces& found, size_t key, size_t place) {
  if (found.count[key] < KeyPlaces::places_max) found.at[key][found.count[key]++] = static_cast<uint16_t>(place);
}

// Looks for one key after the other.
template <size_t (*find)(const char*, size_t, uint64_t)>
void find_keys_singly(const char* bytes, size_t places, const Keys& keys, KeyPlaces& found) {
  for (size_t key = 0; key < keys.size(); ++key) {
    found.count[key] = 0;
    for (size_t at = 0; found.count[key] < KeyPlaces::places_max; ++at) {
      at += find(bytes + at, places - at, keys[key]);
      if (at >= places) break;
      note(found, key, at);
    }
  }
}

// Looks closely at those of the places `at` to `at` + 63 that have a bit in the set of a key.
[[gnu::always_inline]] inline void note_all(const char* bytes, size_t at, const Keys& keys, const uint64_t* sets,
                                            KeyPlaces& found) {
  for (size_t key = 0; key < keys.size(); ++key) {
    for (uint64_t set = sets[key]; set && found.count[key] < KeyPlaces::places_max; set &= set - 1) {
      const size_t place = at + static_cast<size_t>(std::countr_zero(set));
      if (load_le<uint64_t>(bytes + place) == keys[key]) note(found, key, place);
    }
  }
}

size_t forward_anywhere(const char* a, const char* b, size_t bytes_max) {
  return forward_words(a, b, 0, bytes_max);
}
size_t backward_anywhere(const char* a, const char* b, size_t bytes_max) {
  return backward_words(a, b, 0, bytes_max);
}
size_t find_key_anywhere(const char* bytes, size_t places, uint64_t key) {
  return find_key_from(bytes, 0, places, key);
}

#if defined(__x86_64__)

[[gnu::target("avx2")]] size_t forward_avx2(const char* a, const char* b, size_t bytes_max) {
  size_t n = 0;
  for (; n + 32 <= bytes_max; n += 32) {
    const __m256i equal = _mm256_cmpeq_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + n)),
                                            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + n)));
    const uint32_t different = ~static_cast<uint32_t>(_mm256_movemask_epi8(equal));
    if (different) return n + static_cast<size_t>(std::countr_zero(different));
  }
  return forward_words(a, b, n, bytes_max);
}

[[gnu::target("avx2")]] size_t backward_avx2(const char* a, const char* b, size_t bytes_max) {
  size_t n = 0;
  for (; n + 32 <= bytes_max; n += 32) {
    const __m256i equal = _mm256_cmpeq_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a - n - 32)),
                                            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b - n - 32)));
    const uint32_t different = ~static_cast<uint32_t>(_mm256_movemask_epi8(equal));
    if (different) return n + static_cast<size_t>(std::countl_zero(different));
  }
  return backward_words(a, b, n, bytes_max);
}

// Four of the eight bytes sort out nearly everything. They aren't neighbours, because neighbouring bytes of text predict each
// other.
[[gnu::target("avx2")]] size_t find_key_avx2(const char* bytes, size_t places, uint64_t key) {
  const __m256i k0 = _mm256_set1_epi8(static_cast<char>(key)), k2 = _mm256_set1_epi8(static_cast<char>(key >> 16)),
                k5 = _mm256_set1_epi8(static_cast<char>(key >> 40)), k7 = _mm256_set1_epi8(static_cast<char>(key >> 56));
  const auto equal = [&](const char* p, __m256i k) __attribute__((target("avx2"), always_inline)) {
    return _mm256_cmpeq_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)), k);
  };
  size_t at = 0;
  for (; at + 32 <= places; at += 32) {
    const char* p = bytes + at;
    const __m256i all =
        _mm256_and_si256(_mm256_and_si256(equal(p, k0), equal(p + 2, k2)), _mm256_and_si256(equal(p + 5, k5), equal(p + 7, k7)));
    for (auto hits = static_cast<uint32_t>(_mm256_movemask_epi8(all)); hits; hits &= hits - 1) {
      const size_t place = at + static_cast<size_t>(std::countr_zero(hits));
      if (load_le<uint64_t>(bytes + place) == key) return place;
    }
  }
  return find_key_from(bytes, at, places, key);
}

[[gnu::target("avx2")]] void find_keys_avx2(const char* bytes, size_t places, const Keys& keys, KeyPlaces& found) {
  found.count = {};
  __m256i k0[KeyPlaces::keys_max], k2[KeyPlaces::keys_max], k5[KeyPlaces::keys_max], k7[KeyPlaces::keys_max];
  for (size_t key = 0; key < keys.size(); ++key) {
    k0[key] = _mm256_set1_epi8(static_cast<char>(keys[key]));
    k2[key] = _mm256_set1_epi8(static_cast<char>(keys[key] >> 16));
    k5[key] = _mm256_set1_epi8(static_cast<char>(keys[key] >> 40));
    k7[key] = _mm256_set1_epi8(static_cast<char>(keys[key] >> 56));
  }
  const auto load = [&](size_t at) __attribute__((target("avx2"), always_inline)) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + at));
  };
  size_t at = 0;
  for (; at + 32 <= places; at += 32) {
    const __m256i b0 = load(at), b2 = load(at + 2), b5 = load(at + 5), b7 = load(at + 7);
    uint64_t sets[KeyPlaces::keys_max], any = 0;
    for (size_t key = 0; key < keys.size(); ++key) {
      const __m256i all = _mm256_and_si256(_mm256_and_si256(_mm256_cmpeq_epi8(b0, k0[key]), _mm256_cmpeq_epi8(b2, k2[key])),
                                           _mm256_and_si256(_mm256_cmpeq_epi8(b5, k5[key]), _mm256_cmpeq_epi8(b7, k7[key])));
      any |= sets[key] = static_cast<uint32_t>(_mm256_movemask_epi8(all));
    }
    if (any) note_all(bytes, at, keys, sets, found);
  }
  for (; at < places; ++at)
    for (size_t key = 0; key < keys.size(); ++key)
      if (load_le<uint64_t>(bytes + at) == keys[key]) note(found, key, at);
}

[[gnu::target("avx2")]] uint32_t equal_avx2(const char* a, const char* b) {
  return static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a)),
                                                                      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b)))));
}

#define PALIMPSEST_AVX512 "avx512f,avx512bw"

[[gnu::target(PALIMPSEST_AVX512)]] size_t forward_avx512(const char* a, const char* b, size_t bytes_max) {
  size_t n = 0;
  for (; n + 64 <= bytes_max; n += 64) {
    const uint64_t different = _mm512_cmpneq_epi8_mask(_mm512_loadu_si512(a + n), _mm512_loadu_si512(b + n));
    if (different) return n + static_cast<size_t>(std::countr_zero(different));
  }
  const size_t left = bytes_max - n;
  const uint64_t within = (uint64_t{1} << left) - 1;
  const uint64_t different =
      _mm512_cmpneq_epi8_mask(_mm512_maskz_loadu_epi8(within, a + n), _mm512_maskz_loadu_epi8(within, b + n));
  return different ? n + static_cast<size_t>(std::countr_zero(different)) : bytes_max;
}

[[gnu::target(PALIMPSEST_AVX512)]] size_t backward_avx512(const char* a, const char* b, size_t bytes_max) {
  size_t n = 0;
  for (; n + 64 <= bytes_max; n += 64) {
    const uint64_t different = _mm512_cmpneq_epi8_mask(_mm512_loadu_si512(a - n - 64), _mm512_loadu_si512(b - n - 64));
    if (different) return n + static_cast<size_t>(std::countl_zero(different));
  }
  return backward_words(a, b, n, bytes_max);
}

[[gnu::target(PALIMPSEST_AVX512)]] size_t find_key_avx512(const char* bytes, size_t places, uint64_t key) {
  const __m512i k0 = _mm512_set1_epi8(static_cast<char>(key)), k5 = _mm512_set1_epi8(static_cast<char>(key >> 40)),
                k7 = _mm512_set1_epi8(static_cast<char>(key >> 56));
  size_t at = 0;
  for (; at + 64 <= places; at += 64) {
    const char* p = bytes + at;
    uint64_t hits = _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(p), k0);
    hits = _mm512_mask_cmpeq_epi8_mask(hits, _mm512_loadu_si512(p + 5), k5);
    hits = _mm512_mask_cmpeq_epi8_mask(hits, _mm512_loadu_si512(p + 7), k7);
    for (; hits; hits &= hits - 1) {
      const size_t place = at + static_cast<size_t>(std::countr_zero(hits));
      if (load_le<uint64_t>(bytes + place) == key) return place;
    }
  }
  if (at < places) {
    const char* p = bytes + at;
    // The caller's bytes end at the last place; a masked load doesn't touch those behind it.
    const uint64_t within = (uint64_t{1} << (places - at)) - 1;
    uint64_t hits = _mm512_mask_cmpeq_epi8_mask(within, _mm512_maskz_loadu_epi8(within, p), k0);
    hits = _mm512_mask_cmpeq_epi8_mask(hits, _mm512_maskz_loadu_epi8(within, p + 5), k5);
    hits = _mm512_mask_cmpeq_epi8_mask(hits, _mm512_maskz_loadu_epi8(within, p + 7), k7);
    for (; hits; hits &= hits - 1) {
      const size_t place = at + static_cast<size_t>(std::countr_zero(hits));
      if (load_le<uint64_t>(bytes + place) == key) return place;
    }
  }
  return places;
}

[[gnu::target(PALIMPSEST_AVX512)]] void find_keys_avx512(const char* bytes, size_t places, const Keys& keys, KeyPlaces& found) {
  found.count = {};
  __m512i k0[KeyPlaces::keys_max], k5[KeyPlaces::keys_max], k7[KeyPlaces::keys_max];
  for (size_t key = 0; key < keys.size(); ++key) {
    k0[key] = _mm512_set1_epi8(static_cast<char>(keys[key]));
    k5[key] = _mm512_set1_epi8(static_cast<char>(keys[key] >> 40));
    k7[key] = _mm512_set1_epi8(static_cast<char>(keys[key] >> 56));
  }
  for (size_t at = 0; at < places; at += 64) {
    const char* p = bytes + at;
    const uint64_t within = places - at < 64 ? (uint64_t{1} << (places - at)) - 1 : ~uint64_t{0};
    const __m512i b0 = _mm512_maskz_loadu_epi8(within, p), b5 = _mm512_maskz_loadu_epi8(within, p + 5),
                  b7 = _mm512_maskz_loadu_epi8(within, p + 7);
    uint64_t sets[KeyPlaces::keys_max], any = 0;
    for (size_t key = 0; key < keys.size(); ++key) {
      const uint64_t set = _mm512_mask_cmpeq_epi8_mask(within, b0, k0[key]) & _mm512_cmpeq_epi8_mask(b5, k5[key]) &
                           _mm512_cmpeq_epi8_mask(b7, k7[key]);
      any |= sets[key] = set;
    }
    if (any) note_all(bytes, at, keys, sets, found);
  }
}

#elif defined(__aarch64__)

// Makes a number with four bits a lane, the first lane lowest; the lanes hold 0 or 255.
[[gnu::always_inline]] inline uint64_t nibbles(uint8x16_t lanes) {
  return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(lanes), 4)), 0);
}
[[gnu::always_inline]] inline uint8x16_t equal_neon(const char* a, const char* b) {
  return vceqq_u8(vld1q_u8(reinterpret_cast<const uint8_t*>(a)), vld1q_u8(reinterpret_cast<const uint8_t*>(b)));
}

uint32_t equal_neon_32(const char* a, const char* b) {
  constexpr std::array<uint8_t, 16> bits = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const auto half = [&](size_t at) { return vandq_u8(equal_neon(a + at, b + at), vld1q_u8(bits.data())); };
  uint8x16_t sums = vpaddq_u8(half(0), half(16));  // adds up neighbours: after three times a byte holds eight bits
  sums = vpaddq_u8(sums, sums);
  sums = vpaddq_u8(sums, sums);
  return vgetq_lane_u32(vreinterpretq_u32_u8(sums), 0);
}

size_t forward_neon(const char* a, const char* b, size_t bytes_max) {
  size_t n = 0;
  for (; n + 16 <= bytes_max; n += 16) {
    const uint64_t different = ~nibbles(equal_neon(a + n, b + n));
    if (different) return n + static_cast<size_t>(std::countr_zero(different)) / 4;
  }
  return forward_words(a, b, n, bytes_max);
}

size_t backward_neon(const char* a, const char* b, size_t bytes_max) {
  size_t n = 0;
  for (; n + 16 <= bytes_max; n += 16) {
    const uint64_t different = ~nibbles(equal_neon(a - n - 16, b - n - 16));
    if (different) return n + static_cast<size_t>(std::countl_zero(different)) / 4;
  }
  return backward_words(a, b, n, bytes_max);
}

// Works as the AVX2 function does.
size_t find_key_neon(const char* bytes, size_t places, uint64_t key) {
  const uint8x16_t k0 = vdupq_n_u8(static_cast<uint8_t>(key)), k2 = vdupq_n_u8(static_cast<uint8_t>(key >> 16)),
                   k5 = vdupq_n_u8(static_cast<uint8_t>(key >> 40)), k7 = vdupq_n_u8(static_cast<uint8_t>(key >> 56));
  const auto equal = [](const char* p, uint8x16_t k) { return vceqq_u8(vld1q_u8(reinterpret_cast<const uint8_t*>(p)), k); };
  size_t at = 0;
  for (; at + 16 <= places; at += 16) {
    const char* p = bytes + at;
    const uint8x16_t all = vandq_u8(vandq_u8(equal(p, k0), equal(p + 2, k2)), vandq_u8(equal(p + 5, k5), equal(p + 7, k7)));
    for (uint64_t hits = nibbles(all) & 0x1111111111111111; hits; hits &= hits - 1) {
      const size_t place = at + static_cast<size_t>(std::countr_zero(hits)) / 4;
      if (load_le<uint64_t>(bytes + place) == key) return place;
    }
  }
  return find_key_from(bytes, at, places, key);
}

#endif

}  // namespace

std::vector<AgreeKernels> agree_kernels() {
  std::vector<AgreeKernels> all = {
      {"portable", forward_anywhere, backward_anywhere, find_key_anywhere, find_keys_singly<find_key_anywhere>, equal_anywhere}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2"))
    all.push_back({"avx2", forward_avx2, backward_avx2, find_key_avx2, find_keys_avx2, equal_avx2});
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
    all.push_back({"avx512", forward_avx512, backward_avx512, find_key_avx512, find_keys_avx512, equal_avx2});
#elif defined(__aarch64__)
  all.push_back({"neon", forward_neon, backward_neon, find_key_neon, find_keys_singly<find_key_neon>, equal_neon_32});
#endif
  return all;
}

// The pointer has a value from the first instruction on, whatever is initialised before this file.
constinit AgreeKernels agree_fastest = {
    "portable", forward_anywhere, backward_anywhere, find_key_anywhere, find_keys_singly<find_key_anywhere>, equal_anywhere};

namespace {
[[maybe_unused]] const bool chosen = [] {
  agree_fastest = agree_kernels().back();
  return true;
}();
}  // namespace

}  // namespace dedup
