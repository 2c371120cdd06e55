// These functions compute with values, with MongoDB's promotion between the four kinds of
// number:
//
//   int32 op int32     int32, or int64 when that overflows
//   int64 op integer   int64, or double when that overflows
//   double op binary   double
//   decimal op any     decimal128; a double joins with its 15 digits
//
// All arguments are numbers. Where there is no result they return a missing value (each function says when), and
// the caller throws the operator's error. Doubles and decimals follow IEEE 754: sqrt(-1) is NaN, ln(0) is
// -Infinity.
#pragma once

#include <optional>

#include "bson/value.h"

namespace bson::number {

Value add(const ValueView& a, const ValueView& b);
Value subtract(const ValueView& a, const ValueView& b);
Value multiply(const ValueView& a, const ValueView& b);
Value divide(const ValueView& a, const ValueView& b);  // a double or decimal; missing when b is zero
Value mod(const ValueView& a, const ValueView& b);     // the sign of a; missing: division by zero
// Returns an integer where both are integers and it fits; missing for zero to a negative power.
Value pow(const ValueView& base, const ValueView& exponent);

Value abs(const ValueView& value);  // missing for the smallest int64, whose negative doesn't exist
Value ceil(const ValueView& value);
Value floor(const ValueView& value);
// These round half to even and toward zero, at `places` behind the point, or before it when negative (-20 to 100). The type stays
// (an int32 may become int64); the result is missing when it is beyond int64.
Value round(const ValueView& value, int places = 0);
Value trunc(const ValueView& value, int places = 0);

Value sqrt(const ValueView& value);  // these four return a double, or a decimal for a decimal
Value exp(const ValueView& value);
Value ln(const ValueView& value);
Value log10(const ValueView& value);

bool is_zero(const ValueView& value);
bool is_nan(const ValueView& value);
bool is_infinite(const ValueView& value);
bool is_negative(const ValueView& value);  // true for numbers below zero, not for -0 and NaN
// Returns the value when it is a whole number of any type in int64's range, as limits, sizes and positions must be.
std::optional<int64_t> exact_int64(const ValueView& value);
Decimal128 to_decimal(const ValueView& value);  // a double keeps 15 digits

}  // namespace bson::number
