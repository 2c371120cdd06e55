#include "bson/arithmetic.h"

#include <catch2/catch.hpp>

#include <cfenv>
#include <cmath>

#include "bson/compare.h"
#include "bson/decimal.h"
#include "bson/sum.h"
#include "bson/test_generators.h"

namespace bson {
namespace {

__extension__ using int128 = __int128;

Value parsed(const char* text) {
  return value_from_json(text).or_throw();
}

std::string text(const Value& value) {
  return value.exists() ? std::string(type_name(value.type())) + " " + to_shell(value) : "missing";
}

rc::Gen<int64_t> integers() {
  return generators::from_dice(generators::integer);
}

// Computes the exact result in as many bits as it needs.
void check_integers(const Value& result, int128 exact, bool wide) {
  const bool int32_fits = exact == static_cast<int32_t>(exact), int64_fits = exact == static_cast<int64_t>(exact);
  if (!int64_fits) {
    RC_ASSERT(result.type() == Type::number_double);
    RC_ASSERT(std::fabs(result.view().as_double() - static_cast<double>(exact)) <=
              std::ldexp(std::fabs(static_cast<double>(exact)), -50));
  } else {
    RC_ASSERT(result.type() == (int32_fits && !wide ? Type::int32 : Type::int64));
    RC_ASSERT(result.view().to_int64() == static_cast<int64_t>(exact));
  }
}

TEST_CASE("integers are added, subtracted and multiplied exactly or become doubles") {
  CHECK(rc::check("int64", [] {
    const int64_t a = *integers(), b = *integers();
    check_integers(number::add(Value(a), Value(b)), int128{a} + b, true);
    check_integers(number::subtract(Value(a), Value(b)), int128{a} - b, true);
    check_integers(number::multiply(Value(a), Value(b)), int128{a} * b, true);
  }));
  CHECK(rc::check("int32", [](int32_t a, int32_t b) {
    check_integers(number::add(Value(a), Value(b)), int128{a} + b, false);
    check_integers(number::multiply(Value(a), Value(b)), int128{a} * b, false);
  }));
}

TEST_CASE("a sum is the exact sum of integers and near that of doubles") {
  CHECK(rc::check("integers", [] {
    const auto numbers = *rc::gen::container<std::vector<int64_t>>(integers());
    Sum sum;
    int128 exact = 0;
    for (const int64_t number : numbers) {
      sum.add(Value(number));
      exact += number;
    }
    check_integers(sum.total(), exact, !numbers.empty());
  }));
  CHECK(rc::check("the order of doubles hardly matters", [] {
    const auto numbers = *rc::gen::container<std::vector<int32_t>>(rc::gen::arbitrary<int32_t>());
    Sum forward, backward;
    for (const int32_t number : numbers) forward.add(Value(number / 3.0));
    for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) backward.add(Value(*number / 3.0));
    RC_ASSERT(equal(forward.total(), backward.total()));
  }));
}

TEST_CASE("sums take the widest type that came") {
  const auto total = [](std::initializer_list<const char*> numbers) {
    Sum sum;
    for (const char* number : numbers) sum.add(parsed(number));
    return text(sum.total()) + ", " + text(sum.average());
  };
  CHECK(total({}) == "int 0, null null");
  CHECK(total({"1", "'x'", "2"}) == "int 3, double 1.5");
  CHECK(total({"2147483647", "1"}) == "long 2147483648, double 1073741824.0");
  CHECK(total({"NumberLong(1)", "1"}) == "long 2, double 1.0");
  CHECK(total({"0.1", "0.2", "-0.1", "-0.2"}) == "double 0.0, double 0.0");
  CHECK(total({"1e308", "1e308"}) == "double inf.0, double inf.0");
  CHECK(total({"Infinity", "-Infinity", "1"}) == "double nan.0, double nan.0");
  CHECK(total({"NumberDecimal('0.10')", "1"}) == "decimal 1.10, decimal 0.55");
  CHECK(total({"NumberLong('9223372036854775807')", "NumberLong('9223372036854775807')"}) ==
        "double 18446744073709551616.0, double 9223372036854775808.0");
}

TEST_CASE("types are promoted as MongoDB promotes them") {
  CHECK(text(number::add(parsed("1"), parsed("2"))) == "int 3");
  CHECK(text(number::add(parsed("2147483647"), parsed("1"))) == "long 2147483648");
  CHECK(text(number::add(parsed("NumberLong(1)"), parsed("1"))) == "long 2");
  CHECK(text(number::add(parsed("1"), parsed("1.5"))) == "double 2.5");
  CHECK(text(number::add(parsed("NumberDecimal('0.1')"), parsed("0.2"))) == "decimal 0.300000000000000");
  CHECK(text(number::multiply(parsed("NumberDecimal('1.10')"), parsed("2"))) == "decimal 2.20");
  CHECK(text(number::divide(parsed("1"), parsed("2"))) == "double 0.5");
  CHECK(text(number::divide(parsed("4"), parsed("2"))) == "double 2.0");
  CHECK(text(number::divide(parsed("1"), parsed("0"))) == "missing");
  CHECK(text(number::mod(parsed("-7"), parsed("3"))) == "int -1");
  CHECK(text(number::mod(parsed("NumberLong('-9223372036854775808')"), parsed("-1"))) == "long 0");
  CHECK(text(number::mod(parsed("7.5"), parsed("2"))) == "double 1.5");
  CHECK(text(number::mod(parsed("1"), parsed("0.0"))) == "missing");
  CHECK(text(number::pow(parsed("2"), parsed("10"))) == "int 1024");
  CHECK(text(number::pow(parsed("2"), parsed("40"))) == "long 1099511627776");
  CHECK(text(number::pow(parsed("2"), parsed("64"))) == "double 18446744073709551616.0");
  CHECK(text(number::pow(parsed("-2"), parsed("63"))) == "long -9223372036854775808");
  CHECK(text(number::pow(parsed("2"), parsed("-1"))) == "double 0.5");
  CHECK(text(number::pow(parsed("-1"), parsed("-3"))) == "int -1");
  CHECK(text(number::pow(parsed("0"), parsed("-1"))) == "missing");
  CHECK(text(number::abs(parsed("NumberLong('-9223372036854775808')"))) == "missing");
  CHECK(text(number::abs(parsed("-2147483648"))) == "long 2147483648");
  CHECK(text(number::sqrt(parsed("16"))) == "double 4.0");
  CHECK(text(number::sqrt(parsed("NumberDecimal('16')"))) == "decimal 4");
  CHECK(text(number::log10(parsed("NumberDecimal('1000')"))).starts_with("decimal 3"));
}

TEST_CASE("rounding keeps the type and goes to even") {
  CHECK(text(number::round(parsed("2.5"))) == "double 2.0");
  CHECK(text(number::round(parsed("-3.5"))) == "double -4.0");
  CHECK(text(number::round(parsed("1.2345"), 2)) == "double 1.23");
  CHECK(text(number::round(parsed("1e300"), 5)) == "double 1e+300");
  CHECK(text(number::round(parsed("15"), -1)) == "int 20");
  CHECK(text(number::round(parsed("25"), -1)) == "int 20");
  CHECK(text(number::round(parsed("2147483647"), -1)) == "long 2147483650");
  CHECK(text(number::round(parsed("NumberLong('9223372036854775807')"), -1)) == "missing");
  CHECK(text(number::round(parsed("12345"), -20)) == "int 0");
  CHECK(text(number::round(parsed("NumberDecimal('1.25')"), 1)) == "decimal 1.2");
  CHECK(text(number::trunc(parsed("-1.99"))) == "double -1.0");
  CHECK(text(number::trunc(parsed("-1.99"), 1)) == "double -1.9");
  CHECK(text(number::ceil(parsed("NumberDecimal('1.1')"))) == "decimal 2");
  CHECK(text(number::floor(parsed("-1.1"))) == "double -2.0");
  CHECK(text(number::floor(parsed("5"))) == "int 5");
  CHECK(text(number::round(parsed("NaN"), 3)) == "double nan.0");
}

TEST_CASE("whole numbers are recognised in every type") {
  CHECK(number::exact_int64(parsed("5.0")) == 5);
  CHECK(number::exact_int64(parsed("NumberDecimal('5E+2')")) == 500);
  CHECK_FALSE(number::exact_int64(parsed("5.5")));
  CHECK_FALSE(number::exact_int64(parsed("9223372036854775808.0")));
  CHECK(number::exact_int64(parsed("-9223372036854775808.0")) == std::numeric_limits<int64_t>::min());
  CHECK_FALSE(number::exact_int64(parsed("NaN")));
  CHECK_FALSE(number::exact_int64(parsed("'5'")));
}

TEST_CASE("decimals are truncated to doubles as the C library reads their text") {
  CHECK(rc::check("toward zero, and exactness", [] {
    const Decimal128 value = *generators::from_dice(generators::decimal);
    if (decimal_is_nan(value) || decimal_is_infinite(value)) return;
    std::fesetround(FE_TOWARDZERO);
    std::feclearexcept(FE_ALL_EXCEPT);
    const std::string digits = decimal_to_string(value);
    const volatile double expected = std::strtod(digits.c_str(), nullptr);
    const bool exact = std::fetestexcept(FE_INEXACT) == 0;
    std::fesetround(FE_TONEAREST);
    const TruncatedDouble truncated = decimal_truncate_to_double(value);
    RC_ASSERT(truncated.value == expected);
    RC_ASSERT(truncated.exact == exact);
  }));
}

TEST_CASE("decimals are written and read back") {
  CHECK(rc::check("any", [] {
    const Decimal128 value = *generators::from_dice(generators::decimal);
    RC_ASSERT(decimal_from_string(decimal_to_string(value)) == value);
  }));
  for (const char* bad : {"", "x", "1.2.3", "1e", "12345678901234567890123456789012345", "1E+7000"})
    CHECK_FALSE(decimal_from_string(bad));
}

TEST_CASE("doubles become decimals of 15 digits") {
  const auto converted = [](double value) { return decimal_to_string(decimal_from_double(value)); };
  CHECK(converted(0.1) == "0.100000000000000");
  CHECK(converted(2.5) == "2.50000000000000");
  CHECK(converted(0) == "0");
  CHECK(converted(1e300) == "1.00000000000000E+300");
  CHECK(converted(999999999999999.9) == "1.00000000000000E+15");
  CHECK(converted(-std::numeric_limits<double>::infinity()) == "-Infinity");
}

TEST_CASE("conversions to int64 saturate") {
  CHECK(saturated_int64(1e19) == std::numeric_limits<int64_t>::max());
  CHECK(saturated_int64(-1e19) == std::numeric_limits<int64_t>::min());
  CHECK(saturated_int64(std::nan("")) == 0);
  CHECK(saturated_int64(-1.9) == -1);
  CHECK(parsed("NumberDecimal('9007199254740993.7')").view().to_int64() == 9007199254740993);
  CHECK(parsed("NumberDecimal('1E+100')").view().to_int64() == std::numeric_limits<int64_t>::max());
}

TEST_CASE("truth is not lost in conversion") {
  CHECK(parsed("NumberDecimal('1E-6000')").view().truthy());
  CHECK_FALSE(parsed("NumberDecimal('0E-6000')").view().truthy());
  CHECK(parsed("NaN").view().truthy());
  CHECK_FALSE(parsed("-0.0").view().truthy());
}

}  // namespace
}  // namespace bson
