#include "versions/past/packed.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "base/varint.h"

namespace versions::past {
namespace {

constexpr unsigned half_bits = 32;

// The least number is lowered until no number of so many bits above it exceeds 32 bits.
uint32_t least_for(uint32_t least, unsigned bits) {
  return std::min(least, static_cast<uint32_t>(UINT32_MAX - low_bits(bits)));
}

}  // namespace

unsigned packed_width(uint64_t greatest) {
  const auto bits = static_cast<unsigned>(std::bit_width(greatest));
  return is_packed_width(bits) ? bits : 64;
}

void append_packed(base::Bytes& out, std::span<const uint64_t> numbers, unsigned bits) {
  const size_t begin = out.size();
  out.resize(begin + packed_bytes(numbers.size(), bits) + packed_slack);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t bit = i * bits;
    char* const word = out.data() + begin + bit / 8;
    base::store_le(word, base::load_le<uint64_t>(word) | numbers[i] << (bit % 8));
  }
  out.resize(out.size() - packed_slack);
}

StampColumn StampColumn::of(std::span<const Stamp> stamps) {
  uint32_t second = UINT32_MAX, count = UINT32_MAX, second_most = 0, count_most = 0;
  for (const Stamp stamp : stamps) {
    const auto seconds = static_cast<uint32_t>(stamp >> half_bits), counts = static_cast<uint32_t>(stamp);
    second = std::min(second, seconds), second_most = std::max(second_most, seconds);
    count = std::min(count, counts), count_most = std::max(count_most, counts);
  }
  StampColumn column;
  column.second_bits = static_cast<uint8_t>(std::bit_width(second_most - second));
  column.count_bits = static_cast<uint8_t>(std::bit_width(count_most - count));
  if (!is_packed_width(column.bits())) column.second_bits = column.count_bits = half_bits;
  column.second = least_for(second, column.second_bits);
  column.count = least_for(count, column.count_bits);
  return column;
}

void StampColumn::append(base::Bytes& out, std::span<const Stamp> stamps) const {
  std::vector<uint64_t> both;
  both.reserve(stamps.size());
  for (const Stamp stamp : stamps)
    both.push_back(((stamp >> half_bits) - second) << count_bits | (static_cast<uint32_t>(stamp) - count));
  append_packed(out, both, bits());
}

void StampColumn::append_header(base::Bytes& out, uint32_t before, size_t stamps) const {
  base::append_varint(out, base::zigzag(int64_t{second} - int64_t{before}));
  base::append_varint(out, count);
  if (stamps == 1) return;
  out.push_back(static_cast<char>(second_bits));
  out.push_back(static_cast<char>(count_bits));
}

bool StampColumn::take_header(base::BytesView& in, uint32_t before, size_t stamps) {
  const auto from_before = base::take_varint(in), counts = base::take_varint(in);
  if (!from_before || !counts || *counts > UINT32_MAX) return false;
  const int64_t distance = base::unzigzag(*from_before);
  if (distance < -int64_t{UINT32_MAX} || distance > int64_t{UINT32_MAX}) return false;
  const int64_t seconds = int64_t{before} + distance;
  if (seconds < 0 || seconds > int64_t{UINT32_MAX}) return false;
  second_bits = count_bits = 0;
  if (stamps > 1) {
    if (in.size() < 2) return false;
    second_bits = static_cast<uint8_t>(in[0]), count_bits = static_cast<uint8_t>(in[1]);
    in.remove_prefix(2);
    if (second_bits > half_bits || count_bits > half_bits || !is_packed_width(bits())) return false;
  }
  second = static_cast<uint32_t>(seconds), count = static_cast<uint32_t>(*counts);
  return second == least_for(second, second_bits) && count == least_for(count, count_bits) &&
         packed_bytes(stamps, bits()) <= in.size();
}

bool StampColumn::has_zero(const char* packed, size_t stamps) const {
  if (second != 0 || count != 0) return false;
  for (size_t i = 0; i < stamps; ++i) {
    if (at(packed, i) == 0) return true;
  }
  return false;
}

}  // namespace versions::past
