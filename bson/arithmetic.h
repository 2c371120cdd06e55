// Arithmetic over values, with MongoDB's promotion between the four kinds of
// number:
//
//   int32 op int32     int32, or int64 when that overflows
//   int64 op integer   int64, or double when that overflows
//   double op binary   double
//   decimal op any     decimal128; a double joins with its 15 digits
//
// All arguments are numbers. A missing value is the answer where there is
// none (each function says when) and the caller throws the operator's own error.
// Doubles and decimals follow IEEE 754: sqrt(-1) is NaN, ln(0) is -Infinity.
#pragma once

#include <optional>

#include "bson/value.h"

namespace bson::number {

Value add(const ValueView& a, const ValueView& b);
Value subtract(const ValueView& a, const ValueView& b);
Value multiply(const ValueView& a, const ValueView& b);
Value divide(const ValueView& a, const ValueView& b);  // a double or decimal; missing: division by zero
Value mod(const ValueView& a, const ValueView& b);     // the sign of a; missing: division by zero
// An integer where both are and it fits; missing: zero to a negative power.
Value pow(const ValueView& base, const ValueView& exponent);

Value abs(const ValueView& value);  // missing: the smallest int64 has no counterpart
Value ceil(const ValueView& value);
Value floor(const ValueView& value);
// Half to even, and toward zero; at `places` behind the point, or before it when negative (-20 to 100).
// The type stays (an int32 may become int64); missing: beyond int64.
Value round(const ValueView& value, int places = 0);
Value trunc(const ValueView& value, int places = 0);

Value sqrt(const ValueView& value);  // these four: a double, or decimal of a decimal
Value exp(const ValueView& value);
Value ln(const ValueView& value);
Value log10(const ValueView& value);

bool is_zero(const ValueView& value);
bool is_nan(const ValueView& value);
bool is_infinite(const ValueView& value);
bool is_negative(const ValueView& value);  // below zero; not -0, not NaN
// The value when it is a whole number in int64's range, of whatever type: what limits, sizes and positions take.
std::optional<int64_t> exact_int64(const ValueView& value);
Decimal128 to_decimal(const ValueView& value);  // a double with its 15 digits

}  // namespace bson::number
