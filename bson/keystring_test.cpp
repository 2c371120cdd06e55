#include "bson/keystring.h"

#include <catch2/catch.hpp>

#include "bson/compare.h"
#include "bson/test_generators.h"

namespace bson {
namespace {

int sign(int value) {
  return (value > 0) - (value < 0);
}

Bytes key(const ValueView& value, bool descending = false) {
  return KeyString().append(value, descending).bytes();
}

Value parsed(const char* text) {
  return value_from_json(text).or_throw();
}

TEST_CASE("keys are ordered as their values are") {
  CHECK(rc::check("ascending and descending", [] {
    const Value a = *arbitrary_value(), b = *arbitrary_value();
    RC_ASSERT(sign(key(a).compare(key(b))) == sign(compare(a, b)));
    RC_ASSERT(sign(key(b, true).compare(key(a, true))) == sign(compare(a, b)));
  }));
  CHECK(rc::check("values that are nearly the same", [] {
    const Document a = *arbitrary_document();
    const Document b = *changed_document(a);
    RC_ASSERT(sign(key(Value(a.view())).compare(key(Value(b.view())))) == sign(compare(a.view(), b.view())));
  }));
}

TEST_CASE("keys of numbers are ordered as the numbers are") {
  CHECK(rc::check("numbers of all types", [] {
    const Value a = *arbitrary_number(), b = *arbitrary_number();
    RC_ASSERT(sign(key(a).compare(key(b))) == sign(compare(a, b)));
    RC_ASSERT(sign(key(b, true).compare(key(a, true))) == sign(compare(a, b)));
  }));
}

TEST_CASE("compound keys are ordered field by field, whatever follows them") {
  CHECK(rc::check("three values, mixed directions, a record id", [] {
    const std::vector<Value> a = {*arbitrary_value(1), *arbitrary_value(1), *arbitrary_value(1)};
    std::vector<Value> b = a;
    b[*rc::gen::inRange(0, 3)] = *arbitrary_value(1);
    const auto descending = *rc::gen::container<std::vector<bool>>(3, rc::gen::arbitrary<bool>());
    const auto record_a = *rc::gen::arbitrary<uint64_t>(), record_b = *rc::gen::arbitrary<uint64_t>();
    KeyString left, right;
    int expected = 0;
    for (size_t i = 0; i < 3; ++i) {
      left.append(a[i], descending[i]);
      right.append(b[i], descending[i]);
      if (expected == 0) expected = sign(compare(a[i], b[i])) * (descending[i] ? -1 : 1);
    }
    if (expected == 0) expected = record_a < record_b ? -1 : record_a > record_b;
    Bytes left_bytes = left.bytes(), right_bytes = right.bytes();
    base::append_be64(left_bytes, record_a);
    base::append_be64(right_bytes, record_b);
    RC_ASSERT(sign(left_bytes.compare(right_bytes)) == expected);
  }));
}

TEST_CASE("no value's key begins another's") {
  CHECK(rc::check("prefix-free", [] {
    const Bytes a = key(*arbitrary_value()), b = key(*arbitrary_value());
    RC_ASSERT(a == b || !b.starts_with(a));
  }));
}

TEST_CASE("a key's ends enclose every key that begins with the same values") {
  CHECK(rc::check("before and after", [] {
    const Value value = *arbitrary_value(), next = *arbitrary_value();
    const bool descending = *rc::gen::arbitrary<bool>(), next_descending = *rc::gen::arbitrary<bool>();
    const Bytes before = KeyString().append(value, descending).append_before().bytes();
    const Bytes after = KeyString().append(value, descending).append_after().bytes();
    const Bytes longer = KeyString().append(value, descending).append(next, next_descending).bytes();
    Bytes with_record = key(value, descending);
    base::append_be64(with_record, *rc::gen::arbitrary<uint64_t>());
    RC_ASSERT(before <= longer);
    RC_ASSERT(longer < after);
    RC_ASSERT(before <= with_record);
    RC_ASSERT(with_record < after);
    const Value other = *arbitrary_value();
    const Bytes other_key = key(other, descending);
    if (!equal(other, value)) RC_ASSERT((other_key < before) == (other_key < after));
  }));
}

TEST_CASE("a type's bracket holds the values comparable with it and no others") {
  CHECK(rc::check("brackets", [] {
    const Value a = *arbitrary_value(), b = *arbitrary_value();
    const bool descending = *rc::gen::arbitrary<bool>();
    const Bracket bracket = type_bracket(a.type(), descending);
    const Bytes bytes = key(b, descending);
    const bool inside = bracket.min <= bytes && bytes < bracket.max;
    RC_ASSERT(inside == (canonical_rank(a.type()) == canonical_rank(b.type())));
  }));
}

TEST_CASE("keys of integers are short") {
  CHECK(key(Value(0)).size() == 1);
  CHECK(key(Value(127)).size() == 2);
  CHECK(key(Value(-1)).size() == 2);
  CHECK(key(Value(1000000.0)).size() == 4);
  CHECK(key(Value(std::numeric_limits<int64_t>::max())).size() == 9);
  CHECK(key(Value(1.5)).size() == 10);
}

TEST_CASE("numbers between two doubles keep their order") {
  const char* ascending[] = {"NaN",
                             "-Infinity",
                             "NumberDecimal('-1E+400')",
                             "-1e300",
                             "NumberDecimal('-9223372036854775808.5')",
                             "NumberLong('-9223372036854775808')",
                             "NumberDecimal('-9223372036854775807.5')",
                             "-1.5",
                             "NumberDecimal('-1.1')",
                             "-1",
                             "NumberDecimal('-1E-6176')",
                             "0",
                             "NumberDecimal('1E-6176')",
                             "5e-324",
                             "NumberDecimal('0.1')",
                             "0.1",
                             "1",
                             "9007199254740992.0",
                             "NumberDecimal('9007199254740992.5')",
                             "NumberLong('9007199254740993')",
                             "NumberDecimal('9007199254740993.5')",
                             "9007199254740994.0",
                             "NumberLong('9223372036854775807')",
                             "NumberDecimal('9223372036854775807.5')",
                             "9223372036854775808.0",
                             "NumberDecimal('9223372036854775808.5')",
                             "1.7976931348623157e308",
                             "NumberDecimal('1E+400')",
                             "Infinity"};
  for (size_t i = 0; i + 1 < std::size(ascending); ++i) {
    INFO(ascending[i] << " < " << ascending[i + 1]);
    CHECK(compare(parsed(ascending[i]), parsed(ascending[i + 1])) < 0);
    CHECK(key(parsed(ascending[i])) < key(parsed(ascending[i + 1])));
  }
}

}  // namespace
}  // namespace bson
