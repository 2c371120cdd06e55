// LEB128: seven bits a byte, low first, the top bit says that more follow.
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

// Takes a varint off the front; nullopt (and `in` unspecified) where it is cut
// short or longer than 64 bits.
inline std::optional<uint64_t> take_varint(BytesView& in) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (in.empty()) return std::nullopt;
    const auto byte = static_cast<uint8_t>(in.front());
    in.remove_prefix(1);
    if (shift == 63 && byte > 1) return std::nullopt;
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return value;
  }
  return std::nullopt;
}

// Signed numbers near zero as small unsigned ones.
inline uint64_t zigzag(int64_t value) { return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63); }
inline int64_t unzigzag(uint64_t value) { return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1); }

}  // namespace base
