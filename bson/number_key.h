// These are the bytes of a number in a key string. memcmp of two gives the numeric order, and numbers that are equal have the
// same bytes whatever their types.
//
//   NaN, infinities, zero   | kind |
//   |v| < 1                 | kind | truncated double |
//   |v| < 2^63              | kind | 2|whole| + f, 1 to 8 bytes | f: truncated double |
//   |v| >= 2^63             | kind | truncated double |
//
//   truncated double        | 2 * bits + t, 8 bytes | t: tail |
//   tail                    | exponent, 2 bytes | 34 digits, 15 bytes |
//
// `f` is one where a fraction follows, `t` where |v| lies above the double it was truncated to: such
// a value is always a decimal128 (an int64 is one too), and the tail says which. Everything
// behind the kind is big-endian, and inverted for negative numbers.
#pragma once

#include "bson/document.h"

namespace bson {

inline constexpr size_t number_key_bytes_max = 1 + 8 + 8 + 17;

// Writes at most number_key_bytes_max bytes and returns how many. `value` is a number.
size_t number_key(const ValueView& value, char* to);

// The kinds of number, in their order, are the first byte of a key. Numbers with a whole part have one kind for each length of
// it, 1 to 8 bytes, on either side of zero.
namespace number_kind {
inline constexpr uint8_t first = 0x30;
inline constexpr uint8_t nan = first;
inline constexpr uint8_t negative_infinity = first + 1;
inline constexpr uint8_t zero = first + 12;
inline constexpr uint8_t small = zero + 1;   // and zero - 1
inline constexpr uint8_t whole = zero + 1;   // + 1 … + 8 bytes; and minus
inline constexpr uint8_t large = zero + 10;  // and zero - 10
inline constexpr uint8_t infinity = zero + 11;
inline constexpr uint8_t last = infinity;
}  // namespace number_kind

}  // namespace bson
