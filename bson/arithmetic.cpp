#include "bson/arithmetic.h"

#include <cmath>
#include <limits>

#include "bson/compare.h"
#include "bson/decimal.h"
#include "bson/numeric.h"

namespace bson::number {
namespace {

int64_t integer(const ValueView& value) {
  return value.type() == Type::int32 ? value.as_int32() : value.as_int64();
}

bool either(Type type, const ValueView& a, const ValueView& b) {
  return a.type() == type || b.type() == type;
}

// An int32 stays one while it fits.
Value integer_value(int64_t value, bool wide) {
  const auto narrow = static_cast<int32_t>(value);
  return wide || narrow != value ? Value(value) : Value(narrow);
}

// `exact(int64, int64, int64*)` computes the result and reports overflow, as the compiler's builtins do.
template <class Exact, class OnDouble>
Value combine(const ValueView& a, const ValueView& b, Exact exact, OnDouble on_double,
              Decimal128 (*on_decimal)(const Decimal128&, const Decimal128&)) {
  if (either(Type::decimal128, a, b)) return Value(on_decimal(to_decimal(a), to_decimal(b)));
  if (either(Type::number_double, a, b)) return Value(on_double(a.to_double(), b.to_double()));
  int64_t result = 0;
  if (exact(integer(a), integer(b), &result)) return Value(on_double(a.to_double(), b.to_double()));
  return integer_value(result, either(Type::int64, a, b));
}

// Returns |base|^exponent within int64, and nothing when it is larger.
std::optional<int64_t> integer_pow(int64_t base, uint64_t exponent) {
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 ? -1 : 1;
  if (exponent > 63) return std::nullopt;
  int64_t result = 1;
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) return std::nullopt;
  }
  return result;
}

Value round_to(const ValueView& value, int places, Rounding rounding) {
  switch (value.type()) {
    case Type::int32:
    case Type::int64: {
      if (places >= 0) return Value(value);
      const Decimal128 rounded = decimal_round(decimal_from_int64(integer(value)), places, rounding);
      const auto result = exact_int64(Value(rounded));
      return result ? integer_value(*result, value.type() == Type::int64) : Value();
    }
    case Type::number_double: {
      const double number = value.as_double();
      if (!std::isfinite(number)) return Value(value);
      if (places == 0) {
        switch (rounding) {
          case Rounding::half_even: return Value(std::nearbyint(number));
          case Rounding::down: return Value(std::floor(number));
          case Rounding::up: return Value(std::ceil(number));
          case Rounding::toward_zero: return Value(std::trunc(number));
        }
      }
      const Decimal128 rounded = decimal_round(decimal_from_double_34_digits(number), places, rounding);
      return decimal_is_nan(rounded) ? Value(value) : Value(decimal_to_double(rounded));
    }
    default: {
      const Decimal128 number = value.as_decimal128();
      if (decimal_is_nan(number) || decimal_is_infinite(number)) return Value(value);
      const Decimal128 rounded = places == 0 ? decimal_integral(number, rounding) : decimal_round(number, places, rounding);
      return decimal_is_nan(rounded) ? Value(value) : Value(rounded);  // it had no more places than that before
    }
  }
}

Value apply(const ValueView& value, double (*on_double)(double), Decimal128 (*on_decimal)(const Decimal128&)) {
  if (value.type() == Type::decimal128) return Value(on_decimal(value.as_decimal128()));
  return Value(on_double(value.to_double()));
}

}  // namespace

Value add(const ValueView& a, const ValueView& b) {
  return combine(
      a, b, [](int64_t x, int64_t y, int64_t* z) { return __builtin_add_overflow(x, y, z); },
      [](double x, double y) { return x + y; }, decimal_add);
}

Value subtract(const ValueView& a, const ValueView& b) {
  return combine(
      a, b, [](int64_t x, int64_t y, int64_t* z) { return __builtin_sub_overflow(x, y, z); },
      [](double x, double y) { return x - y; }, decimal_subtract);
}

Value multiply(const ValueView& a, const ValueView& b) {
  return combine(
      a, b, [](int64_t x, int64_t y, int64_t* z) { return __builtin_mul_overflow(x, y, z); },
      [](double x, double y) { return x * y; }, decimal_multiply);
}

Value divide(const ValueView& a, const ValueView& b) {
  if (is_zero(b)) return {};
  if (either(Type::decimal128, a, b)) return Value(decimal_divide(to_decimal(a), to_decimal(b)));
  return Value(a.to_double() / b.to_double());
}

Value mod(const ValueView& a, const ValueView& b) {
  if (is_zero(b)) return {};
  if (either(Type::decimal128, a, b)) return Value(decimal_mod(to_decimal(a), to_decimal(b)));
  // A divisor that is a double but a small integer counts as an integer.
  const double divisor = b.to_double();
  const bool real =
      b.type() == Type::number_double && !(divisor >= INT32_MIN && divisor <= INT32_MAX && divisor == std::trunc(divisor));
  if (a.type() == Type::number_double || real) return Value(std::fmod(a.to_double(), divisor));
  const int64_t by = b.type() == Type::number_double ? static_cast<int64_t>(divisor) : integer(b);
  // The smallest integer has no counterpart, so the processor refuses to divide it by -1.
  const int64_t rest = by == -1 ? 0 : integer(a) % by;
  return integer_value(rest, either(Type::int64, a, b));
}

Value pow(const ValueView& base, const ValueView& exponent) {
  if (is_zero(base) && is_negative(exponent)) return {};
  if (either(Type::decimal128, base, exponent)) return Value(decimal_pow(to_decimal(base), to_decimal(exponent)));
  if (base.is_integer() && exponent.is_integer()) {
    const int64_t power = integer(exponent);
    const bool unit = integer(base) == 1 || integer(base) == -1;  // only these are whole numbers at negative powers
    const uint64_t magnitude = power < 0 ? -static_cast<uint64_t>(power) : static_cast<uint64_t>(power);
    if (power >= 0 || unit) {
      const auto result = integer_pow(integer(base), magnitude);
      if (result) return integer_value(*result, either(Type::int64, base, exponent));
    }
  }
  return Value(std::pow(base.to_double(), exponent.to_double()));
}

Value abs(const ValueView& value) {
  switch (value.type()) {
    case Type::int32: return integer_value(std::abs(int64_t{value.as_int32()}), false);
    case Type::int64:
      if (value.as_int64() == std::numeric_limits<int64_t>::min()) return {};
      return Value(std::abs(value.as_int64()));
    case Type::number_double: return Value(std::fabs(value.as_double()));
    default: return Value(decimal_abs(value.as_decimal128()));
  }
}

Value ceil(const ValueView& value) {
  return round_to(value, 0, Rounding::up);
}
Value floor(const ValueView& value) {
  return round_to(value, 0, Rounding::down);
}
Value round(const ValueView& value, int places) {
  return round_to(value, places, Rounding::half_even);
}
Value trunc(const ValueView& value, int places) {
  return round_to(value, places, Rounding::toward_zero);
}

Value sqrt(const ValueView& value) {
  return apply(value, std::sqrt, decimal_sqrt);
}
Value exp(const ValueView& value) {
  return apply(value, std::exp, decimal_exp);
}
Value ln(const ValueView& value) {
  return apply(value, std::log, decimal_ln);
}
Value log10(const ValueView& value) {
  return apply(value, std::log10, decimal_log10);
}

bool is_zero(const ValueView& value) {
  return value.is_number() && !value.truthy();
}

bool is_nan(const ValueView& value) {
  if (value.type() == Type::number_double) return std::isnan(value.as_double());
  return value.type() == Type::decimal128 && decimal_is_nan(value.as_decimal128());
}

bool is_infinite(const ValueView& value) {
  if (value.type() == Type::number_double) return std::isinf(value.as_double());
  return value.type() == Type::decimal128 && decimal_is_infinite(value.as_decimal128());
}

bool is_negative(const ValueView& value) {
  switch (value.type()) {
    case Type::int32:
    case Type::int64: return integer(value) < 0;
    case Type::number_double: return value.as_double() < 0;
    case Type::decimal128: {
      const Decimal128 number = value.as_decimal128();
      return decimal_is_negative(number) && !decimal_is_zero(number) && !decimal_is_nan(number);
    }
    default: return false;
  }
}

std::optional<int64_t> exact_int64(const ValueView& value) {
  if (!value.is_number()) return std::nullopt;
  const int64_t whole = value.to_int64();
  if (!value.is_integer() && !equal(Value(whole), value)) return std::nullopt;
  return whole;
}

Decimal128 to_decimal(const ValueView& value) {
  switch (value.type()) {
    case Type::int32:
    case Type::int64: return decimal_from_int64(integer(value));
    case Type::number_double: return decimal_from_double(value.as_double());
    default: return value.as_decimal128();
  }
}

}  // namespace bson::number
