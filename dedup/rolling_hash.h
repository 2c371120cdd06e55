// A rolling hash is the Rabin fingerprint of a sliding window: the bytes as a polynomial over GF(2), modulo an irreducible one of
// degree 53 (Rabin 1981; Broder 1993).
#pragma once

#include <array>
#include <cstdint>

namespace dedup {

class RabinTables {
 public:
  static constexpr uint64_t polynomial = 0x3da3358b4dc173ull;
  static constexpr int degree = 53;

  explicit constexpr RabinTables(unsigned window) : push_{}, pop_{} {
    for (uint64_t byte = 0; byte < 256; ++byte) {
      push_[byte] = modulo(byte, degree) | byte << degree;
      uint64_t leaving = byte;
      for (unsigned i = 1; i < window; ++i) leaving = modulo(leaving, 8);
      pop_[byte] = leaving;
    }
  }

  constexpr uint64_t push(uint64_t hash, uint8_t in) const {
    hash = hash << 8 | in;
    return hash ^ push_[hash >> degree];
  }
  constexpr uint64_t slide(uint64_t hash, uint8_t out, uint8_t in) const { return push(hash ^ pop_[out], in); }

 private:
  // Returns value * x^shift mod polynomial.
  static constexpr uint64_t modulo(uint64_t value, int shift) {
    for (int i = 0; i < shift; ++i) {
      value <<= 1;
      if (value >> degree & 1) value ^= polynomial;
    }
    return value;
  }

  std::array<uint64_t, 256> push_;
  std::array<uint64_t, 256> pop_;
};

}  // namespace dedup
