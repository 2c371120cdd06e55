// Finding what two contents share: one file for each DeltaMethod.
#pragma once

#include "dedup/delta.h"

namespace dedup {

std::optional<std::vector<Copy>> find_copies_by_resync(BytesView source, BytesView target, const DeltaOptions& options);
std::optional<std::vector<Copy>> find_copies_by_anchors(BytesView source, BytesView target, const DeltaOptions& options);

// Bytes that agree from the front, at most `bytes_max`.
inline size_t agree_forward(const char* a, const char* b, size_t bytes_max) {
  size_t n = 0;
  while (n + 32 <= bytes_max && std::memcmp(a + n, b + n, 32) == 0) n += 32;
  while (n + 8 <= bytes_max) {
    const uint64_t difference = base::load_le<uint64_t>(a + n) ^ base::load_le<uint64_t>(b + n);
    if (difference) return n + static_cast<size_t>(std::countr_zero(difference)) / 8;
    n += 8;
  }
  while (n < bytes_max && a[n] == b[n]) ++n;
  return n;
}

// Bytes that agree before `a` and `b`, at most `bytes_max`.
inline size_t agree_backward(const char* a, const char* b, size_t bytes_max) {
  size_t n = 0;
  while (n + 32 <= bytes_max && std::memcmp(a - n - 32, b - n - 32, 32) == 0) n += 32;
  while (n + 8 <= bytes_max) {
    const uint64_t difference = base::load_le<uint64_t>(a - n - 8) ^ base::load_le<uint64_t>(b - n - 8);
    if (difference) return n + static_cast<size_t>(std::countl_zero(difference)) / 8;
    n += 8;
  }
  while (n < bytes_max && a[-1 - static_cast<ptrdiff_t>(n)] == b[-1 - static_cast<ptrdiff_t>(n)]) ++n;
  return n;
}

}  // namespace dedup
