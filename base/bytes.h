// Bytes are the common language of every layer below the documents.
//
// `BytesView` borrows for the call, `Bytes` is yours. Both are the standard string types, so moving, comparing and hashing them
// costs the usual.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace base {

using Bytes = std::string;
using BytesView = std::string_view;

static_assert(std::endian::native == std::endian::little, "formats are little-endian and read in place");

// These functions load and store unaligned little-endian numbers. The caller has checked the length.
template <class T>
inline T load_le(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
inline void store_le(void* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

template <class T>
inline void append_le(Bytes& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

inline uint64_t byte_swap(uint64_t value) {
  return __builtin_bswap64(value);
}

// These are big-endian, for keys, whose bytes must sort as their numbers do.
inline void append_be64(Bytes& out, uint64_t value) {
  append_le(out, byte_swap(value));
}
inline uint64_t load_be64(const void* from) {
  return byte_swap(load_le<uint64_t>(from));
}

inline const uint8_t* as_u8(BytesView bytes) {
  return reinterpret_cast<const uint8_t*>(bytes.data());
}

// Returns hexadecimal digits such as "1f00a3…", for messages and tests.
Bytes to_hex(BytesView bytes);

}  // namespace base
