#include "bson/arithmetic.h"

#include <cmath>

#include "bson/sum.h"
#include "server/query/expressions/operator_support.h"

namespace server::query {
namespace {

constexpr int type_mismatch = static_cast<int>(base::ErrorCode::type_mismatch);
constexpr int bad_value = static_cast<int>(base::ErrorCode::bad_value);
constexpr int overflow = static_cast<int>(base::ErrorCode::overflow);

void check_finite(const ValueView& by) {
  if (bson::number::is_nan(by) || bson::number::is_infinite(by)) fail(16980, "can't add a non-finite number to a date");
}

Value earlier(const ValueView& date, const ValueView& by) {
  check_finite(by);
  const int64_t delta = by.is_integer() ? by.to_int64() : bson::number::round(by).view().to_int64();
  int64_t ms = 0;
  if (__builtin_sub_overflow(date.as_date().ms, delta, &ms)) fail(overflow, "date overflow in $subtract");
  return Value(bson::Date{ms});
}

// The date counts as one of the numbers, and what comes out is rounded as a whole: halves go away from zero.
Value date_of_sum(bson::Sum sum, const ValueView& date) {
  check_finite(sum.total());
  sum.add(Value(date.as_date().ms));
  const Value total = sum.total();
  const bool is_double = total.type() == Type::number_double;
  const auto ms = is_double ? bson::number::exact_int64(Value(std::round(total.view().as_double())))
                            : bson::number::exact_int64(bson::number::round(total));
  if (!ms) fail(overflow, "date overflow in $add");
  return Value(bson::Date{*ms});
}

Value add(std::string_view, Arguments a) {
  bson::Sum sum;
  ValueView date;
  for (const ValueView& argument : a) {
    if (argument.is_nullish()) return Value::null();
    if (argument.type() == Type::date) {
      if (date.exists()) fail(16612, "only one date allowed in an $add expression");
      date = argument;
    } else if (argument.is_number()) {
      sum.add(argument);
    } else {
      fail(type_mismatch, "$add only supports numeric or date types, not " + named(argument));
    }
  }
  return date.exists() ? date_of_sum(sum, date) : sum.total();
}

Value subtract(std::string_view, Arguments a) {
  if (any_nullish(a)) return Value::null();
  if (a[0].is_number() && a[1].is_number()) return bson::number::subtract(a[0], a[1]);
  if (a[0].type() == Type::date && a[1].type() == Type::date) {
    const int64_t from = a[0].as_date().ms, by = a[1].as_date().ms;
    int64_t ms = 0;
    if (__builtin_sub_overflow(from, by, &ms)) fail(overflow, "date overflow in $subtract");
    return Value(ms);
  }
  if (a[0].type() == Type::date && a[1].is_number()) return earlier(a[0], a[1]);
  fail(type_mismatch, "can't $subtract " + named(a[1]) + " from " + named(a[0]));
}

Value multiply(std::string_view, Arguments a) {
  Value product(int32_t{1});
  for (const ValueView& argument : a) {
    if (argument.is_nullish()) return Value::null();
    if (!argument.is_number()) fail(type_mismatch, "$multiply only supports numeric types, not " + named(argument));
    product = bson::number::multiply(product, argument);
  }
  return product;
}

Value divide(std::string_view, Arguments a) {
  if (any_nullish(a)) return Value::null();
  if (!a[0].is_number() || !a[1].is_number()) {
    fail(type_mismatch, "$divide only supports numeric types, not " + named(a[0]) + " and " + named(a[1]));
  }
  Value quotient = bson::number::divide(a[0], a[1]);
  if (!quotient.exists()) fail(bad_value, "can't $divide by zero");
  return quotient;
}

Value mod(std::string_view, Arguments a) {
  if (any_nullish(a)) return Value::null();
  if (!a[0].is_number() || !a[1].is_number()) {
    fail(16611, "$mod only supports numeric types, not " + named(a[0]) + " and " + named(a[1]));
  }
  Value rest = bson::number::mod(a[0], a[1]);
  if (!rest.exists()) {
    const bool decimal = a[0].type() == Type::decimal128 || a[1].type() == Type::decimal128;
    fail(decimal ? 5733415 : 16610, "can't $mod by zero");
  }
  return rest;
}

// Checks the argument of a function of one number; false: the result is null.
bool numeric(std::string_view name, const ValueView& value, int code = 28765) {
  if (value.is_nullish()) return false;
  if (!value.is_number()) fail(code, std::string(name) + " only supports numeric types, not " + named(value));
  return true;
}

Value abs(std::string_view name, Arguments a) {
  if (!numeric(name, a[0])) return Value::null();
  Value result = bson::number::abs(a[0]);
  if (!result.exists()) fail(28680, "can't take $abs of long long min");
  return result;
}

template <Value (*function)(const ValueView&)>
Value unary(std::string_view name, Arguments a) {
  return numeric(name, a[0]) ? function(a[0]) : Value::null();
}

Value sqrt(std::string_view name, Arguments a) {
  if (!numeric(name, a[0])) return Value::null();
  if (bson::number::is_negative(a[0])) fail(28714, "$sqrt's argument must be greater than or equal to 0");
  return bson::number::sqrt(a[0]);
}

bool positive(const ValueView& value) {
  return !bson::number::is_negative(value) && !bson::number::is_zero(value);
}

std::string shown(const ValueView& value) {
  std::string text = value.is_integer() ? std::to_string(value.to_int64()) : std::to_string(value.to_double());
  while (text.find('.') != std::string::npos && (text.back() == '0' || text.back() == '.')) {
    const bool dot = text.back() == '.';
    text.pop_back();
    if (dot) break;
  }
  return text;
}

Value ln(std::string_view name, Arguments a) {
  if (!numeric(name, a[0])) return Value::null();
  if (!positive(a[0]) && !bson::number::is_nan(a[0]))
    fail(28766, "$ln's argument must be a positive number, but is " + shown(a[0]));
  return bson::number::ln(a[0]);
}

Value log10(std::string_view name, Arguments a) {
  if (!numeric(name, a[0])) return Value::null();
  if (!positive(a[0]) && !bson::number::is_nan(a[0])) {
    fail(28761, "$log10's argument must be a positive number, but is " + shown(a[0]));
  }
  return bson::number::log10(a[0]);
}

Value log(std::string_view, Arguments a) {
  if (any_nullish(a)) return Value::null();
  if (!a[0].is_number()) fail(28756, "$log's argument must be numeric, not " + named(a[0]));
  if (!a[1].is_number()) fail(28757, "$log's base must be numeric, not " + named(a[1]));
  if (!positive(a[0])) fail(28758, "$log's argument must be a positive number, but is " + shown(a[0]));
  if (!positive(a[1]) || a[1].to_double() == 1) {
    fail(28759, "$log's base must be a positive number not equal to 1, but is " + shown(a[1]));
  }
  return bson::number::divide(bson::number::ln(a[0]), bson::number::ln(a[1]));
}

Value pow(std::string_view, Arguments a) {
  if (any_nullish(a)) return Value::null();
  if (!a[0].is_number()) fail(28762, "$pow's base must be numeric, not " + named(a[0]));
  if (!a[1].is_number()) fail(28763, "$pow's exponent must be numeric, not " + named(a[1]));
  Value power = bson::number::pow(a[0], a[1]);
  if (!power.exists()) fail(28764, "$pow cannot take a base of 0 and a negative exponent");
  return power;
}

template <Value (*function)(const ValueView&, int)>
Value rounded(std::string_view name, Arguments a) {
  if (!numeric(name, a[0], 51081)) return Value::null();
  int places = 0;
  if (a.size() == 2) {
    if (a[1].is_nullish()) return Value::null();
    const auto whole = bson::number::exact_int64(a[1]);
    if (!whole) fail(51082, "precision argument to  " + std::string(name) + " must be a integral value");
    if (*whole < -20 || *whole > 100) {
      fail(51083, "cannot apply " + std::string(name) + " with precision value " + std::to_string(*whole) +
                      " value must be in [-20, 100]");
    }
    places = static_cast<int>(*whole);
  }
  Value result = function(a[0], places);
  if (!result.exists()) fail(51080, "invalid conversion from Decimal128 result in " + std::string(name));
  return result;
}

// The bit operators combine integers; missing arguments give null.
template <class Combine>
Value bits(std::string_view name, Arguments a, int64_t start, Combine combine) {
  int64_t so_far = start;
  bool wide = false;
  for (const ValueView& argument : a) {
    if (argument.is_nullish()) return Value::null();
    if (!argument.is_integer()) fail(type_mismatch, std::string(name) + " only supports int and long operands.");
    wide = wide || argument.type() == Type::int64;
    so_far = combine(so_far, argument.to_int64());
  }
  return wide ? Value(so_far) : Value(static_cast<int32_t>(so_far));
}
Value bit_and(std::string_view n, Arguments a) {
  return bits(n, a, -1, [](int64_t x, int64_t y) { return x & y; });
}
Value bit_or(std::string_view n, Arguments a) {
  return bits(n, a, 0, [](int64_t x, int64_t y) { return x | y; });
}
Value bit_xor(std::string_view n, Arguments a) {
  return bits(n, a, 0, [](int64_t x, int64_t y) { return x ^ y; });
}
Value bit_not(std::string_view n, Arguments a) {
  if (!numeric(n, a[0])) return Value::null();
  if (!a[0].is_integer()) fail(type_mismatch, "$bitNot only supports int and long, not: " + named(a[0]) + ".");
  return bits(n, a, 0, [](int64_t, int64_t y) { return ~y; });
}

constexpr OperatorEntry entries[] = {
    {"$add", function_of<add, 0, -1>},
    {"$subtract", function_of<subtract, 2>},
    {"$multiply", function_of<multiply, 0, -1>},
    {"$divide", function_of<divide, 2>},
    {"$mod", function_of<mod, 2>},
    {"$abs", function_of<abs, 1>},
    {"$ceil", function_of<unary<bson::number::ceil>, 1>},
    {"$floor", function_of<unary<bson::number::floor>, 1>},
    {"$exp", function_of<unary<bson::number::exp>, 1>},
    {"$sqrt", function_of<sqrt, 1>},
    {"$ln", function_of<ln, 1>},
    {"$log10", function_of<log10, 1>},
    {"$log", function_of<log, 2>},
    {"$pow", function_of<pow, 2>},
    {"$round", function_of<rounded<bson::number::round>, 1, 2>},
    {"$trunc", function_of<rounded<bson::number::trunc>, 1, 2>},
    {"$bitAnd", function_of<bit_and, 0, -1>},
    {"$bitOr", function_of<bit_or, 0, -1>},
    {"$bitXor", function_of<bit_xor, 0, -1>},
    {"$bitNot", function_of<bit_not, 1>},
};

}  // namespace

std::span<const OperatorEntry> arithmetic_operators() {
  return entries;
}

}  // namespace server::query
