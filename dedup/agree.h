// These functions tell how far two runs of bytes agree, and where eight bytes stand in others. They are as fast as the machine's
// vectors allow, and answer the same on every machine.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "base/bytes.h"

namespace dedup {

// Places where some keys stand: for each key the first few, in order.
struct KeyPlaces {
  static constexpr size_t keys_max = 5, places_max = 4;
  std::array<uint8_t, keys_max> count;
  std::array<std::array<uint16_t, places_max>, keys_max> at;

  std::span<const uint16_t> of(size_t key) const { return {at[key].data(), count[key]}; }
};
using Keys = std::array<uint64_t, KeyPlaces::keys_max>;

struct AgreeKernels {
  const char* name;
  size_t (*forward)(const char* a, const char* b, size_t bytes_max);
  size_t (*backward)(const char* a, const char* b, size_t bytes_max);
  size_t (*find_key)(const char* bytes, size_t places, uint64_t key);
  void (*find_keys)(const char* bytes, size_t places, const Keys& keys, KeyPlaces& found);
  uint32_t (*equal)(const char* a, const char* b);
};

// The variants that this machine can run, the portable one first, the fastest last.
std::vector<AgreeKernels> agree_kernels();

// The one in use is set once, before main.
extern AgreeKernels agree_fastest;

// Returns how many bytes agree from the front, at most `bytes_max`.
inline size_t agree_forward(const char* a, const char* b, size_t bytes_max) {
  if (bytes_max < 8) {
    size_t n = 0;
    while (n < bytes_max && a[n] == b[n]) ++n;
    return n;
  }
  const uint64_t difference = base::load_le<uint64_t>(a) ^ base::load_le<uint64_t>(b);
  if (difference) return static_cast<size_t>(std::countr_zero(difference)) / 8;
  return 8 + agree_fastest.forward(a + 8, b + 8, bytes_max - 8);
}

// Returns how many bytes agree before `a` and `b`, at most `bytes_max`.
inline size_t agree_backward(const char* a, const char* b, size_t bytes_max) {
  if (bytes_max < 8) {
    size_t n = 0;
    while (n < bytes_max && a[-1 - static_cast<ptrdiff_t>(n)] == b[-1 - static_cast<ptrdiff_t>(n)]) ++n;
    return n;
  }
  const uint64_t difference = base::load_le<uint64_t>(a - 8) ^ base::load_le<uint64_t>(b - 8);
  if (difference) return static_cast<size_t>(std::countl_zero(difference)) / 8;
  return 8 + agree_fastest.backward(a - 8, b - 8, bytes_max - 8);
}

constexpr size_t key_bytes = 8;

// Returns the first of the `places` places at which the eight bytes of `key` stand, and `places` where there is none. Reads
// `places + 7` bytes.
inline size_t find_key(const char* bytes, size_t places, const char* key) {
  return agree_fastest.find_key(bytes, places, base::load_le<uint64_t>(key));
}

// Does the same for several keys in one pass; at most 65,536 places.
inline void find_keys(const char* bytes, size_t places, const Keys& keys, KeyPlaces& found) {
  agree_fastest.find_keys(bytes, places, keys, found);
}

constexpr size_t equal_bytes = 32;

// Returns a bit for each of so many bytes that are the same, the first one lowest.
inline uint32_t equal(const char* a, const char* b) {
  return agree_fastest.equal(a, b);
}

}  // namespace dedup
