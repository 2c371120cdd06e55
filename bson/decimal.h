// This is IEEE 754-2008 decimal128 arithmetic, with 34 digits, rounding half to even.
//
// The arithmetic itself is Intel's decimal library, which computes on the same BID layout BSON
// stores. Nothing throws: domain errors give NaN and overflow gives an infinity, as IEEE 754
// says.
#pragma once

#include "bson/types.h"

namespace bson {

bool decimal_is_nan(const Decimal128& value);
bool decimal_is_infinite(const Decimal128& value);
bool decimal_is_negative(const Decimal128& value);  // looks at the sign bit, also of zeros and NaN
bool decimal_is_zero(const Decimal128& value);

// Returns -1, 0 or 1. NaN equals itself and is below every number; all zeros are equal.
int decimal_compare(const Decimal128& a, const Decimal128& b);

Decimal128 decimal_add(const Decimal128& a, const Decimal128& b);
Decimal128 decimal_subtract(const Decimal128& a, const Decimal128& b);
Decimal128 decimal_multiply(const Decimal128& a, const Decimal128& b);
Decimal128 decimal_divide(const Decimal128& a, const Decimal128& b);
Decimal128 decimal_mod(const Decimal128& a, const Decimal128& b);  // the sign of a
Decimal128 decimal_pow(const Decimal128& base, const Decimal128& exponent);
Decimal128 decimal_negate(const Decimal128& value);
Decimal128 decimal_abs(const Decimal128& value);
Decimal128 decimal_sqrt(const Decimal128& value);
Decimal128 decimal_exp(const Decimal128& value);
Decimal128 decimal_ln(const Decimal128& value);
Decimal128 decimal_log10(const Decimal128& value);

enum class Trigonometric : uint8_t { sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh };
Decimal128 decimal_trigonometric(Trigonometric function, const Decimal128& value);
Decimal128 decimal_atan2(const Decimal128& y, const Decimal128& x);

enum class Rounding { half_even, down, up, toward_zero };

// Rounds to a multiple of 10^-places, which becomes the exponent ("1.5" to 3 places is "1.500"). The result is NaN where that
// needs more than 34 digits.
Decimal128 decimal_round(const Decimal128& value, int places, Rounding rounding);
// Rounds to a whole number; unlike the function above it takes any magnitude.
Decimal128 decimal_integral(const Decimal128& value, Rounding rounding);

// Returns the double that equals `value` or is the next one towards zero, and whether the two are equal. Comparisons of a decimal
// with a double are exact with it.
struct TruncatedDouble {
  double value;
  bool exact;
};
TruncatedDouble decimal_truncate_to_double(const Decimal128& value);

// Splits |value| into coefficient * 10^exponent with exactly 34 digits in the coefficient, the most significant half first. Pairs
// of (exponent, coefficient) are ordered as the magnitudes are. The value is finite and not zero.
struct NormalDecimal {
  int16_t exponent;
  uint64_t high;
  uint64_t low;
};
NormalDecimal decimal_normalize(const Decimal128& value);

}  // namespace bson
