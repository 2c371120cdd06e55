// Angles are in radians. A decimal gives a decimal, every other number a double.
#include <cmath>
#include <numbers>

#include "bson/arithmetic.h"
#include "bson/decimal.h"
#include "bson/numeric.h"
#include "server/query/expressions/operator_support.h"

namespace server::query {
namespace {

using bson::Trigonometric;

struct Function {
  double (*of)(double);
  double least, most;  // the least and the greatest argument
  bool ends;           // whether these two are included
};

constexpr double infinity = std::numeric_limits<double>::infinity();

// The functions are in the order of bson::Trigonometric.
const Function functions[] = {
    {std::sin, -infinity, infinity, false},
    {std::cos, -infinity, infinity, false},
    {std::tan, -infinity, infinity, false},
    {std::asin, -1, 1, true},
    {std::acos, -1, 1, true},
    {std::atan, -infinity, infinity, true},
    {std::sinh, -infinity, infinity, true},
    {std::cosh, -infinity, infinity, true},
    {std::tanh, -infinity, infinity, true},
    {std::asinh, -infinity, infinity, true},
    {std::acosh, 1, infinity, true},
    {std::atanh, -1, 1, true},
};

std::string shown(double value) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return bson::double_to_string(value);
}

void check_number(std::string_view name, const ValueView& value) {
  if (!value.is_number()) fail(28765, std::string(name) + " only supports numeric types, not " + named(value));
}

template <Trigonometric which>
Value trigonometric(std::string_view name, Arguments a) {
  if (a[0].is_nullish()) return Value::null();
  check_number(name, a[0]);
  const Function& function = functions[static_cast<size_t>(which)];
  const double value = a[0].to_double();
  const bool inside =
      function.ends ? value >= function.least && value <= function.most : value > function.least && value < function.most;
  if (!inside && !std::isnan(value)) {
    fail(50989, "cannot apply " + std::string(name) + " to " + shown(value) + ", value must in " + (function.ends ? "[" : "(") +
                    shown(function.least) + "," + shown(function.most) + (function.ends ? "]" : ")"));
  }
  if (a[0].type() == Type::decimal128) return Value(bson::decimal_trigonometric(which, a[0].as_decimal128()));
  return Value(function.of(value));
}

Value atan2(std::string_view name, Arguments a) {
  if (any_nullish(a)) return Value::null();
  if (!a[0].is_number()) fail(51044, std::string(name) + " only supports numeric types, not " + named(a[0]));
  if (!a[1].is_number()) fail(51045, std::string(name) + " only supports numeric types, not " + named(a[1]));
  if (a[0].type() == Type::decimal128 || a[1].type() == Type::decimal128) {
    return Value(bson::decimal_atan2(bson::number::to_decimal(a[0]), bson::number::to_decimal(a[1])));
  }
  return Value(std::atan2(a[0].to_double(), a[1].to_double()));
}

Value scaled(std::string_view name, Arguments a, double factor, const char* decimal_factor) {
  if (a[0].is_nullish()) return Value::null();
  check_number(name, a[0]);
  if (a[0].type() == Type::decimal128)
    return Value(bson::decimal_multiply(a[0].as_decimal128(), *bson::decimal_from_string(decimal_factor)));
  return Value(a[0].to_double() * factor);
}
Value to_radians(std::string_view name, Arguments a) {
  return scaled(name, a, std::numbers::pi / 180, "0.01745329251994329576923690768488613");
}
Value to_degrees(std::string_view name, Arguments a) {
  return scaled(name, a, 180 / std::numbers::pi, "57.29577951308232087679815481410517");
}

constexpr OperatorEntry entries[] = {
    {"$sin", function_of<trigonometric<Trigonometric::sin>, 1>},
    {"$cos", function_of<trigonometric<Trigonometric::cos>, 1>},
    {"$tan", function_of<trigonometric<Trigonometric::tan>, 1>},
    {"$asin", function_of<trigonometric<Trigonometric::asin>, 1>},
    {"$acos", function_of<trigonometric<Trigonometric::acos>, 1>},
    {"$atan", function_of<trigonometric<Trigonometric::atan>, 1>},
    {"$sinh", function_of<trigonometric<Trigonometric::sinh>, 1>},
    {"$cosh", function_of<trigonometric<Trigonometric::cosh>, 1>},
    {"$tanh", function_of<trigonometric<Trigonometric::tanh>, 1>},
    {"$asinh", function_of<trigonometric<Trigonometric::asinh>, 1>},
    {"$acosh", function_of<trigonometric<Trigonometric::acosh>, 1>},
    {"$atanh", function_of<trigonometric<Trigonometric::atanh>, 1>},
    {"$atan2", function_of<atan2, 2>},
    {"$degreesToRadians", function_of<to_radians, 1>},
    {"$radiansToDegrees", function_of<to_degrees, 1>},
};

}  // namespace

std::span<const OperatorEntry> trigonometry_operators() {
  return entries;
}

}  // namespace server::query
