// Varints are LEB128: each byte has seven bits, the lowest first, and its top bit says that more bytes follow.
#pragma once

#include <optional>

#include "base/bytes.h"

namespace base {

inline void append_varint(Bytes& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

inline size_t varint_bytes(uint64_t value) {
  size_t bytes = 1;
  while (value >= 0x80) value >>= 7, ++bytes;
  return bytes;
}

// Reads the varint at `at`, which moves behind it. Returns false, both unspecified, where it is cut short or beyond 64 bits.
[[gnu::always_inline]] inline bool next_varint(const char*& at, const char* end, uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && at != end; shift += 7) {
    const auto byte = static_cast<uint8_t>(*at++);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return shift < 63 || byte <= 1;
  }
  return false;
}

// Takes a varint off the front. Returns nullopt, and leaves `in` unspecified, where there is none, as above.
inline std::optional<uint64_t> take_varint(BytesView& in) {
  const char* at = in.data();
  uint64_t value;
  if (!next_varint(at, in.data() + in.size(), value)) return std::nullopt;
  in.remove_prefix(static_cast<size_t>(at - in.data()));
  return value;
}

// Zigzag coding turns signed numbers near zero into small unsigned ones.
inline uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
inline int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

}  // namespace base
