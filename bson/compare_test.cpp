#include "bson/compare.h"

#include <catch2/catch.hpp>

#include "bson/arithmetic.h"
#include "bson/decimal.h"
#include "bson/test_generators.h"

namespace bson {
namespace {

int sign(int value) {
  return (value > 0) - (value < 0);
}

Value parsed(const char* text) {
  return value_from_json(text).or_throw();
}

TEST_CASE("values are totally ordered") {
  CHECK(rc::check("antisymmetric and transitive", [] {
    const Value a = *arbitrary_value(2), b = *arbitrary_value(2), c = *arbitrary_value(2);
    RC_ASSERT(sign(compare(a, b)) == -sign(compare(b, a)));
    RC_ASSERT(compare(a, a) == 0);
    if (compare(a, b) <= 0 && compare(b, c) <= 0) RC_ASSERT(compare(a, c) <= 0);
  }));
  CHECK(rc::check("numbers too, where doubles stop being exact", [] {
    const Value a = *arbitrary_number(), b = *arbitrary_number(), c = *arbitrary_number();
    RC_ASSERT(sign(compare(a, b)) == -sign(compare(b, a)));
    if (compare(a, b) <= 0 && compare(b, c) <= 0) RC_ASSERT(compare(a, c) <= 0);
  }));
}

TEST_CASE("integers compare with each other as integers do") {
  CHECK(rc::check("against 64 bits", [](int64_t a, int32_t b) {
    RC_ASSERT(sign(compare(Value(a), Value(b))) == (a < b ? -1 : a > b));
    RC_ASSERT(sign(compare(Value(decimal_from_int64(a)), Value(b))) == (a < b ? -1 : a > b));
  }));
}

TEST_CASE("equal values have equal hashes") {
  CHECK(rc::check("the same number in every type that holds it", [] {
    const Value a = *arbitrary_number();
    std::vector<Value> same = {a};
    if (const auto whole = number::exact_int64(a)) {
      same.emplace_back(*whole);
      same.emplace_back(decimal_from_int64(*whole));
    }
    same.emplace_back(a.view().to_double());
    same.emplace_back(decimal_from_double_34_digits(a.view().to_double()));
    for (const Value& b : same) {
      if (equal(a, b)) RC_ASSERT(hash_value(a, 7) == hash_value(b, 7));
    }
  }));
  CHECK(rc::check("any two", [] {
    const Value a = *arbitrary_value(), b = *arbitrary_value();
    RC_ASSERT((compare(a, b) == 0) == (hash_value(a) == hash_value(b)));
  }));
  CHECK(hash_value(parsed("{a: [1, {b: 0}]}")) == hash_value(parsed("{a: [1.0, {b: NumberDecimal('-0.00')}]}")));
}

TEST_CASE("types are ordered as MongoDB orders them") {
  const char* ascending[] = {"MinKey",
                             "undefined",
                             "null",
                             "NaN",
                             "-Infinity",
                             "5",
                             "'a'",
                             "{$symbol: 'b'}",
                             "{}",
                             "{a: 1}",
                             "[]",
                             "[1]",
                             "BinData(0, '')",
                             "BinData(0, 'AAAA')",
                             "ObjectId('000000000000000000000000')",
                             "false",
                             "true",
                             "ISODate('1969-01-01')",
                             "ISODate('2024-01-01')",
                             "Timestamp(1, 1)",
                             "/a/",
                             "/a/i",
                             "DBPointer('a', ObjectId('000000000000000000000000'))",
                             "Code('a')",
                             "Code('a', {})",
                             "MaxKey"};
  for (size_t i = 0; i + 1 < std::size(ascending); ++i) {
    INFO(ascending[i] << " < " << ascending[i + 1]);
    CHECK(compare(parsed(ascending[i]), parsed(ascending[i + 1])) < 0);
  }
}

TEST_CASE("documents are compared by type, then name, then value") {
  CHECK(compare(json("{a: 1}").view(), json("{a: 1.0}").view()) == 0);
  CHECK(compare(json("{a: 9}").view(), json("{b: 1}").view()) < 0);
  CHECK(compare(json("{b: 1}").view(), json("{a: 'x'}").view()) < 0);
  CHECK(compare(json("{a: 1}").view(), json("{a: 1, b: 1}").view()) < 0);
}

TEST_CASE("equal numbers of different types are equal, near ones are not") {
  CHECK(compare(parsed("0.1"), parsed("NumberDecimal('0.1')")) > 0);
  CHECK(compare(parsed("0.5"), parsed("NumberDecimal('0.50')")) == 0);
  CHECK(compare(parsed("-0.0"), parsed("0")) == 0);
  CHECK(compare(parsed("NaN"), parsed("NumberDecimal('NaN')")) == 0);
  CHECK(compare(parsed("NumberLong('9007199254740993')"), parsed("9007199254740992.0")) > 0);
}

TEST_CASE("a missing value is like undefined, below null") {
  CHECK(compare(ValueView(), parsed("undefined")) == 0);
  CHECK(compare(ValueView(), parsed("null")) < 0);
}

}  // namespace
}  // namespace bson
