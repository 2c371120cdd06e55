#include "dedup/agree.h"

#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dedup {

namespace {

using base::load_le;

// The rest that fills no vector.
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

// Four of the eight bytes sort out nearly everything: not neighbours, which in
// text know much of each other.
[[gnu::target("avx2")]] size_t find_key_avx2(const char* bytes, size_t places, uint64_t key) {
  const __m256i k0 = _mm256_set1_epi8(static_cast<char>(key)), k2 = _mm256_set1_epi8(static_cast<char>(key >> 16)),
                k5 = _mm256_set1_epi8(static_cast<char>(key >> 40)),
                k7 = _mm256_set1_epi8(static_cast<char>(key >> 56));
  const auto equal = [&](const char* p, __m256i k) __attribute__((target("avx2"), always_inline)) {
    return _mm256_cmpeq_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)), k);
  };
  size_t at = 0;
  for (; at + 32 <= places; at += 32) {
    const char* p = bytes + at;
    const __m256i all = _mm256_and_si256(_mm256_and_si256(equal(p, k0), equal(p + 2, k2)),
                                         _mm256_and_si256(equal(p + 5, k5), equal(p + 7, k7)));
    for (auto hits = static_cast<uint32_t>(_mm256_movemask_epi8(all)); hits; hits &= hits - 1) {
      const size_t place = at + static_cast<size_t>(std::countr_zero(hits));
      if (load_le<uint64_t>(bytes + place) == key) return place;
    }
  }
  return find_key_from(bytes, at, places, key);
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
  const __m512i k0 = _mm512_set1_epi8(static_cast<char>(key)), k2 = _mm512_set1_epi8(static_cast<char>(key >> 16)),
                k5 = _mm512_set1_epi8(static_cast<char>(key >> 40)),
                k7 = _mm512_set1_epi8(static_cast<char>(key >> 56));
  for (size_t at = 0; at < places; at += 64) {
    const char* p = bytes + at;
    const size_t left = places - at;
    // Bytes beyond the last place are not ours to read: masked out, a load doesn't touch them.
    const uint64_t within = left >= 64 ? ~uint64_t{0} : (uint64_t{1} << left) - 1;
    uint64_t hits = _mm512_mask_cmpeq_epi8_mask(within, _mm512_maskz_loadu_epi8(within, p), k0);
    hits = _mm512_mask_cmpeq_epi8_mask(hits, _mm512_maskz_loadu_epi8(within, p + 2), k2);
    hits = _mm512_mask_cmpeq_epi8_mask(hits, _mm512_maskz_loadu_epi8(within, p + 5), k5);
    hits = _mm512_mask_cmpeq_epi8_mask(hits, _mm512_maskz_loadu_epi8(within, p + 7), k7);
    for (; hits; hits &= hits - 1) {
      const size_t place = at + static_cast<size_t>(std::countr_zero(hits));
      if (load_le<uint64_t>(bytes + place) == key) return place;
    }
  }
  return places;
}

#endif

}  // namespace

std::vector<AgreeKernels> agree_kernels() {
  std::vector<AgreeKernels> all = {{"portable", forward_anywhere, backward_anywhere, find_key_anywhere}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) all.push_back({"avx2", forward_avx2, backward_avx2, find_key_avx2});
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
    all.push_back({"avx512", forward_avx512, backward_avx512, find_key_avx512});
#endif
  return all;
}

// Of use from the first instruction on, whatever is initialised before this file.
constinit AgreeKernels agree_fastest = {"portable", forward_anywhere, backward_anywhere, find_key_anywhere};

namespace {
[[maybe_unused]] const bool chosen = [] {
  agree_fastest = agree_kernels().back();
  return true;
}();
}  // namespace

}  // namespace dedup
