#include "base/md5.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace base {

namespace {

constexpr int rotations[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

// RFC 1321, 3.4: the whole part of 2^32 · |sin(i + 1)|.
const std::array<uint32_t, 64>& sines() {
  static const std::array<uint32_t, 64> table = [] {
    std::array<uint32_t, 64> made{};
    for (size_t i = 0; i < made.size(); ++i)
      made[i] = static_cast<uint32_t>(std::floor(std::abs(std::sin(static_cast<double>(i + 1))) * 0x1p32));
    return made;
  }();
  return table;
}

}  // namespace

void Md5::digest_block(const char* block) {
  std::array<uint32_t, 16> words;
  for (size_t i = 0; i < words.size(); ++i) words[i] = load_le<uint32_t>(block + 4 * i);
  auto [a, b, c, d] = sums_;
  for (size_t i = 0; i < 64; ++i) {
    uint32_t mixed;
    size_t word;
    switch (i / 16) {
      case 0: mixed = (b & c) | (~b & d), word = i; break;
      case 1: mixed = (d & b) | (~d & c), word = (5 * i + 1) % 16; break;
      case 2: mixed = b ^ c ^ d, word = (3 * i + 5) % 16; break;
      default: mixed = c ^ (b | ~d), word = 7 * i % 16; break;
    }
    const uint32_t sum = a + mixed + sines()[i] + words[word];
    a = d, d = c, c = b;
    b += std::rotl(sum, rotations[i / 16][i % 4]);
  }
  sums_ = {sums_[0] + a, sums_[1] + b, sums_[2] + c, sums_[3] + d};
}

void Md5::append(BytesView bytes) {
  while (!bytes.empty()) {
    const size_t at = begun(), piece = std::min(bytes.size(), block_.size() - at);
    std::memcpy(block_.data() + at, bytes.data(), piece);
    bits_ += piece * 8;
    bytes.remove_prefix(piece);
    if (begun() == 0) digest_block(block_.data());
  }
}

std::string Md5::hex() const {
  Md5 closed = *this;
  Bytes end(1, static_cast<char>(0x80));
  end.resize((begun() < 56 ? 56 : 120) - begun());
  append_le(end, bits_);
  closed.append(end);
  std::string text;
  for (const uint32_t sum : closed.sums_) {
    for (int shift = 0; shift < 32; shift += 8) {
      text += "0123456789abcdef"[sum >> (shift + 4) & 15];
      text += "0123456789abcdef"[sum >> shift & 15];
    }
  }
  return text;
}

Bytes Md5::state() const {
  Bytes out;
  append_le(out, bits_);
  for (const uint32_t sum : sums_) append_le(out, sum);
  out.append(block_.data(), block_.size());
  return out;
}

std::optional<Md5> Md5::from_state(BytesView state) {
  if (state.size() != state_bytes) return std::nullopt;
  Md5 md5;
  md5.bits_ = load_le<uint64_t>(state.data());
  if (md5.bits_ % 8 != 0) return std::nullopt;
  for (size_t i = 0; i < md5.sums_.size(); ++i) md5.sums_[i] = load_le<uint32_t>(state.data() + 8 + 4 * i);
  std::memcpy(md5.block_.data(), state.data() + 24, md5.block_.size());
  return md5;
}

}  // namespace base
