#include "bson/decimal.h"

#define DECIMAL_CALL_BY_REFERENCE 0
#define DECIMAL_GLOBAL_ROUNDING 0
#define DECIMAL_GLOBAL_EXCEPTION_FLAGS 0
#include <bid_conf.h>
#include <bid_functions.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "bson/numeric.h"

namespace bson {
namespace {

using Flags = _IDEC_flags;

constexpr unsigned nearest = BID_ROUNDING_TO_NEAREST;
constexpr int exponent_bias = 6176;
constexpr int digits_max = 34;

BID_UINT128 bid(const Decimal128& value) {
  BID_UINT128 result;
  result.w[0] = value.low;
  result.w[1] = value.high;
  return result;
}

Decimal128 decimal(const BID_UINT128& value) {
  return {value.w[0], value.w[1]};
}

// Returns 10^exponent, to which a number is rounded.
Decimal128 power_of_ten(int exponent) {
  return {1, static_cast<uint64_t>(exponent + exponent_bias) << 49};
}

// Returns the power of ten of the leading digit. The value must not be zero, an infinity or NaN.
int leading_exponent(const Decimal128& value) {
  Flags flags = 0;
  return bid128_ilogb(bid(value), &flags);
}

}  // namespace

bool decimal_is_nan(const Decimal128& value) {
  return bid128_isNaN(bid(value)) != 0;
}
bool decimal_is_infinite(const Decimal128& value) {
  return bid128_isInf(bid(value)) != 0;
}
bool decimal_is_negative(const Decimal128& value) {
  return value.high >> 63;
}
bool decimal_is_zero(const Decimal128& value) {
  return bid128_isZero(bid(value)) != 0;
}

int decimal_compare(const Decimal128& a, const Decimal128& b) {
  Flags flags = 0;
  const BID_UINT128 x = bid(a), y = bid(b);
  if (bid128_quiet_less(x, y, &flags)) return -1;
  if (bid128_quiet_greater(x, y, &flags)) return 1;
  return static_cast<int>(decimal_is_nan(b)) - static_cast<int>(decimal_is_nan(a));
}

Decimal128 decimal_add(const Decimal128& a, const Decimal128& b) {
  Flags flags = 0;
  return decimal(bid128_add(bid(a), bid(b), nearest, &flags));
}

Decimal128 decimal_subtract(const Decimal128& a, const Decimal128& b) {
  Flags flags = 0;
  return decimal(bid128_sub(bid(a), bid(b), nearest, &flags));
}

Decimal128 decimal_multiply(const Decimal128& a, const Decimal128& b) {
  Flags flags = 0;
  return decimal(bid128_mul(bid(a), bid(b), nearest, &flags));
}

Decimal128 decimal_divide(const Decimal128& a, const Decimal128& b) {
  Flags flags = 0;
  return decimal(bid128_div(bid(a), bid(b), nearest, &flags));
}

Decimal128 decimal_mod(const Decimal128& a, const Decimal128& b) {
  Flags flags = 0;
  return decimal(bid128_fmod(bid(a), bid(b), &flags));
}

Decimal128 decimal_pow(const Decimal128& base, const Decimal128& exponent) {
  Flags flags = 0;
  return decimal(bid128_pow(bid(base), bid(exponent), nearest, &flags));
}

Decimal128 decimal_negate(const Decimal128& value) {
  return decimal(bid128_negate(bid(value)));
}
Decimal128 decimal_abs(const Decimal128& value) {
  return decimal(bid128_abs(bid(value)));
}

Decimal128 decimal_sqrt(const Decimal128& value) {
  Flags flags = 0;
  return decimal(bid128_sqrt(bid(value), nearest, &flags));
}

Decimal128 decimal_exp(const Decimal128& value) {
  Flags flags = 0;
  return decimal(bid128_exp(bid(value), nearest, &flags));
}

Decimal128 decimal_ln(const Decimal128& value) {
  Flags flags = 0;
  return decimal(bid128_log(bid(value), nearest, &flags));
}

Decimal128 decimal_log10(const Decimal128& value) {
  Flags flags = 0;
  return decimal(bid128_log10(bid(value), nearest, &flags));
}

Decimal128 decimal_trigonometric(Trigonometric function, const Decimal128& value) {
  using Function = BID_UINT128 (*)(BID_UINT128, unsigned, Flags*);
  // The flags stand in the order of the names.
  constexpr Function functions[] = {bid128_sin,  bid128_cos,  bid128_tan,  bid128_asin,  bid128_acos,  bid128_atan,
                                    bid128_sinh, bid128_cosh, bid128_tanh, bid128_asinh, bid128_acosh, bid128_atanh};
  Flags flags = 0;
  return decimal(functions[static_cast<size_t>(function)](bid(value), nearest, &flags));
}

Decimal128 decimal_atan2(const Decimal128& y, const Decimal128& x) {
  Flags flags = 0;
  return decimal(bid128_atan2(bid(y), bid(x), nearest, &flags));
}

Decimal128 decimal_round(const Decimal128& value, int places, Rounding rounding) {
  Flags flags = 0;
  unsigned mode = nearest;
  if (rounding == Rounding::down) mode = BID_ROUNDING_DOWN;
  if (rounding == Rounding::up) mode = BID_ROUNDING_UP;
  if (rounding == Rounding::toward_zero) mode = BID_ROUNDING_TO_ZERO;
  return decimal(bid128_quantize(bid(value), bid(power_of_ten(-places)), mode, &flags));
}

Decimal128 decimal_integral(const Decimal128& value, Rounding rounding) {
  Flags flags = 0;
  const BID_UINT128 x = bid(value);
  switch (rounding) {
    case Rounding::half_even: return decimal(bid128_round_integral_nearest_even(x, &flags));
    case Rounding::down: return decimal(bid128_round_integral_negative(x, &flags));
    case Rounding::up: return decimal(bid128_round_integral_positive(x, &flags));
    case Rounding::toward_zero: return decimal(bid128_round_integral_zero(x, &flags));
  }
  return value;
}

TruncatedDouble decimal_truncate_to_double(const Decimal128& value) {
  Flags flags = 0;
  double truncated = bid128_to_binary64(bid(value), BID_ROUNDING_TO_ZERO, &flags);
  bool exact = (flags & BID_INEXACT_EXCEPTION) == 0;
  if (std::isinf(truncated) && !decimal_is_infinite(value)) {
    truncated = std::copysign(std::numeric_limits<double>::max(), truncated);
    exact = false;
  }
  return {truncated, exact};
}

NormalDecimal decimal_normalize(const Decimal128& value) {
  __extension__ using uint128 = unsigned __int128;
  uint128 coefficient = uint128{value.high & ((uint64_t{1} << 49) - 1)} << 64 | value.low;
  int exponent = static_cast<int>((value.high >> 49) & 0x3fff) - exponent_bias;
  uint128 smallest = 1;
  for (int i = 1; i < digits_max; ++i) smallest *= 10;
  base::check(coefficient != 0, "normal form of zero");
  for (; coefficient < smallest; --exponent) coefficient *= 10;
  return {static_cast<int16_t>(exponent), static_cast<uint64_t>(coefficient >> 64), static_cast<uint64_t>(coefficient)};
}

int64_t saturated_int64(const Decimal128& value) {
  if (decimal_is_nan(value)) return 0;
  Flags flags = 0;
  const int64_t result = bid128_to_int64_int(bid(value), &flags);
  if ((flags & BID_INVALID_EXCEPTION) == 0) return result;
  return decimal_is_negative(value) ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

double decimal_to_double(const Decimal128& value) {
  Flags flags = 0;
  return bid128_to_binary64(bid(value), nearest, &flags);
}

Decimal128 decimal_from_int64(int64_t value) {
  return decimal(bid128_from_int64(value));
}

Decimal128 decimal_from_double_34_digits(double value) {
  Flags flags = 0;
  return decimal(binary64_to_bid128(value, nearest, &flags));
}

Decimal128 decimal_from_double(double value) {
  const Decimal128 close = decimal_from_double_34_digits(value);
  if (value == 0 || !std::isfinite(value)) return close;
  constexpr int digits = 15;
  const Decimal128 rounded = decimal_round(close, digits - 1 - leading_exponent(close), Rounding::half_even);
  // Rounding 9.999… up may have given one digit more.
  const int places = digits - 1 - leading_exponent(rounded);
  return decimal_round(rounded, places, Rounding::half_even);
}

}  // namespace bson
