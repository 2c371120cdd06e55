// Packed numbers have one width and stand one behind the other: each takes as many bits as the greatest needs, the lowest first.
//
// A timestamp is two of them: seconds, and a count within the second. Each is stored as its distance from the least of its
// column, so timestamps of about the same time take a few bits, whenever that was.
#pragma once

#include <span>

#include "base/bytes.h"
#include "versions/past/mapping.h"

namespace versions::past {

// So many bytes behind packed numbers must be readable.
inline constexpr size_t packed_slack = 8;

// Widths up to 56 bits work, and 64: a number is loaded with the 64 bits from the byte on that it begins in.
inline bool is_packed_width(unsigned bits) {
  return bits <= 56 || bits == 64;
}
inline size_t packed_bytes(size_t count, unsigned bits) {
  return (count * bits + 7) / 8;
}
inline uint64_t low_bits(unsigned bits) {
  return bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
}

unsigned packed_width(uint64_t greatest);
void append_packed(base::Bytes& out, std::span<const uint64_t> numbers, unsigned bits);
inline uint64_t packed_at(const char* packed, size_t i, unsigned bits) {
  const size_t bit = i * bits;
  return base::load_le<uint64_t>(packed + bit / 8) >> (bit % 8) & low_bits(bits);
}

struct StampColumn {
  uint32_t second = 0, count = 0;  // the least of each column
  uint8_t second_bits = 0, count_bits = 0;

  static StampColumn of(std::span<const Stamp> stamps);

  unsigned bits() const { return second_bits + count_bits; }
  Stamp at(const char* packed, size_t i) const {
    const uint64_t both = packed_at(packed, i, bits());
    return ((second + (both >> count_bits)) << 32) + count + (both & low_bits(count_bits));
  }
  void append(base::Bytes& out, std::span<const Stamp> stamps) const;  // the packed numbers

  // Appends the header: the least second as its distance from `before`, the least count, and the widths if there are several
  // numbers.
  void append_header(base::Bytes& out, uint32_t before, size_t stamps) const;
  // Takes the header off the front of `in`. False: it is damaged, or needs more bytes than `in` has.
  bool take_header(base::BytesView& in, uint32_t before, size_t stamps);
  // Returns whether any timestamp would be 0, which no content has.
  bool has_zero(const char* packed, size_t stamps) const;
};

}  // namespace versions::past
