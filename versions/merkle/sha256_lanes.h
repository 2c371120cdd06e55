// This is SHA-256's inner function over many messages side by side, each in a lane of the vector registers (FIPS 180-4, §6.2.2).
//
// Files include this that are compiled for one instruction set each, so nothing here may be shared with the rest of the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace versions::merkle {

constexpr size_t lanes_max = 16;

// Adds one block of each lane to its state: `state[word][lane]`, which must be aligned to 64 bytes.
using Compress = void(uint32_t (*state)[lanes_max], const uint8_t* const* blocks);
Compress compress_8, compress_16;  // for processors with AVX2, and with AVX-512 F and BW

namespace {

[[maybe_unused]] alignas(64) constexpr uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

template <class Vector>
inline Vector rotated(Vector value, int bits) {
  return (value >> bits) | (value << (32 - bits));
}

// Each bit is what two of the three have.
template <class Vector>
inline Vector majority(Vector a, Vector b, Vector c) {
#if defined(__AVX512F__)
  // Compilers need two instructions for the formula.
  return (Vector)_mm512_ternarylogic_epi32((__m512i)a, (__m512i)b, (__m512i)c, 0xe8);
#else
  return (a & b) ^ (a & c) ^ (b & c);
#endif
}

// The loop is unrolled, so that the words stay in registers.
template <class Work, size_t... at>
__attribute__((always_inline)) inline void for_each_of(Work&& work, std::index_sequence<at...>) {
  (work(std::integral_constant<size_t, at>{}), ...);
}
template <class Work>
__attribute__((always_inline)) inline void for_each_of_16(Work&& work) {
  for_each_of(work, std::make_index_sequence<16>{});
}

// Reverses the bytes of each word.
template <class Vector, size_t... at>
__attribute__((always_inline)) inline Vector swapped(Vector words, std::index_sequence<at...>) {
  using Chars __attribute__((vector_size(sizeof(Vector)))) = char;
  return (Vector)__builtin_shufflevector((Chars)words, (Chars)words, (at / 4 * 4 + 3 - at % 4)...);
}

// Takes one of each in turn, from `first` on.
template <size_t first, class Vector, size_t... at>
__attribute__((always_inline)) inline Vector interleaved(Vector a, Vector b, std::index_sequence<at...>) {
  return __builtin_shufflevector(a, b, (first + at / 2 + at % 2 * sizeof...(at))...);
}

// Rows become columns. Each step rotates an element's row and column, read as one number, by a bit.
template <class Vector, size_t width>
__attribute__((always_inline)) inline void transpose(Vector* rows) {
  constexpr auto all = std::make_index_sequence<width>{};
#pragma GCC unroll 4
  for (size_t step = 1; step < width; step *= 2) {
    Vector next[width];
    for_each_of(
        [&](auto index) __attribute__((always_inline)) {
          constexpr size_t i = decltype(index)::value;
          next[2 * i] = interleaved<0>(rows[i], rows[i + width / 2], all);
          next[2 * i + 1] = interleaved<width / 2>(rows[i], rows[i + width / 2], all);
        },
        std::make_index_sequence<width / 2>{});
    for_each_of(
        [&](auto index) __attribute__((always_inline)) { rows[decltype(index)::value] = next[decltype(index)::value]; }, all);
  }
}

// `Vector` has `width` words of 32 bits.
template <class Vector, size_t width>
inline void compress(uint32_t (*state)[lanes_max], const uint8_t* const* blocks) {
  Vector w[16], s[8];
#pragma GCC unroll 2
  for (size_t part = 0; part < 16; part += width) {
#pragma GCC unroll 16
    for (size_t lane = 0; lane < width; ++lane) {
      std::memcpy(&w[part + lane], blocks[lane] + 4 * part, sizeof(Vector));
      w[part + lane] = swapped(w[part + lane], std::make_index_sequence<sizeof(Vector)>{});
    }
    transpose<Vector, width>(w + part);
  }
  for (size_t i = 0; i < 8; ++i) std::memcpy(&s[i], state[i], sizeof(Vector));
  Vector a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];
  for (size_t i = 0; i < 64; i += 16) {
    for_each_of_16([&](auto index) __attribute__((always_inline)) {
      constexpr size_t at = decltype(index)::value;
      if (i > 0) {
        const Vector before = w[(at + 1) % 16], last = w[(at + 14) % 16];
        w[at] += (rotated(before, 7) ^ rotated(before, 18) ^ (before >> 3)) + w[(at + 9) % 16] +
                 (rotated(last, 17) ^ rotated(last, 19) ^ (last >> 10));
      }
      // The last operand is the one that waits for the last round's `e`: the others are ready by then.
      const Vector known = h + round_constants[i + at] + w[at];
      const Vector rest = ((e & f) ^ (~e & g)) + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25));
      const Vector second = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + majority(a, b, c);
      h = g, g = f, f = e, e = (d + known) + rest, d = c, c = b, b = a, a = (known + second) + rest;
    });
  }
  s[0] += a, s[1] += b, s[2] += c, s[3] += d, s[4] += e, s[5] += f, s[6] += g, s[7] += h;
  for (size_t i = 0; i < 8; ++i) std::memcpy(state[i], &s[i], sizeof(Vector));
}

}  // namespace
}  // namespace versions::merkle
