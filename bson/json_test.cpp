#include "bson/json.h"

#include <catch2/catch.hpp>

#include "bson/compare.h"
#include "bson/test_generators.h"

namespace bson {
namespace {

std::string relaxed(std::string_view text) {
  return to_json(json(text).view());
}
std::string failure(std::string_view text) {
  const auto result = from_json(text);
  return result.ok() ? "" : result.failure().message;
}

// NaN has many forms in BSON and one in JSON.
bool same_but_nan(const ValueView& a, const ValueView& b) {
  if (a.type() != b.type()) return false;
  if (a.is_object() || a.is_array()) {
    auto left = a.as_document().begin(), right = b.as_document().begin();
    for (; left != a.as_document().end() && right != b.as_document().end(); ++left, ++right) {
      if (left->name != right->name || !same_but_nan(*left, *right)) return false;
    }
    return left == a.as_document().end() && right == b.as_document().end();
  }
  if (a.type() == Type::code_with_scope) {
    return a.code_with_scope_code() == b.code_with_scope_code() &&
           same_but_nan(Value(a.code_with_scope_scope()), Value(b.code_with_scope_scope()));
  }
  return a.identical(b) || (a.is_number() && std::isnan(a.to_double()) && std::isnan(b.to_double()));
}

TEST_CASE("canonical JSON reads back as the same bytes") {
  CHECK(rc::check("documents", [] {
    const Document document = *arbitrary_document();
    const Document back = json(to_json(document.view(), JsonMode::canonical));
    RC_ASSERT(same_but_nan(Value(document.view()), Value(back.view())));
  }));
}

TEST_CASE("relaxed JSON reads back as an equal value") {
  CHECK(rc::check("values", [] {
    const Value value = *arbitrary_value();
    const Value back = value_from_json(to_json(value)).or_throw();
    RC_ASSERT(equal(value, back));
  }));
}

TEST_CASE("damaged JSON is refused or read, never worse") {
  CHECK(rc::check("mutations", [] {
    std::string text = to_json((*arbitrary_document()).view(), JsonMode::canonical);
    for (int left = *rc::gen::inRange(1, 4); left > 0 && !text.empty(); --left) {
      const size_t at = *rc::gen::inRange<size_t>(0, text.size());
      *rc::gen::arbitrary<bool>() ? void(text.erase(at, 1))
                                  : void(text[at] = *rc::gen::elementOf(std::string("{}[]\"\\:,0-$a/'u\0", 16)));
    }
    const auto result = from_json(text);
    if (!result.ok()) RC_ASSERT(result.failure().code == base::ErrorCode::failed_to_parse);
  }));
}

TEST_CASE("numbers take the narrowest type that holds them") {
  CHECK(relaxed("{a: 1, b: 2147483648, c: 9223372036854775808, d: 1.0, e: -1e3, f: .5}") ==
        R"({"a": 1, "b": 2147483648, "c": 9223372036854775808.0, "d": 1.0, "e": -1000.0, "f": 0.5})");
  CHECK(json("{a: 1}")["a"].type() == Type::int32);
  CHECK(json("{a: NumberLong(1)}")["a"].type() == Type::int64);
  CHECK(json("{a: NumberInt('1')}")["a"].type() == Type::int32);
  CHECK(json("{a: -Infinity}")["a"].as_double() == -std::numeric_limits<double>::infinity());
}

TEST_CASE("the shell's forms are read") {
  CHECK(relaxed("{ _id: ObjectId('0123456789abcdef01234567'), 'q\\'s': [1, 2,], }") ==
        R"({"_id": {"$oid": "0123456789abcdef01234567"}, "q's": [1, 2]})");
  CHECK(relaxed("{a: /a[/]b\\/c\\d/im, // the end\n b: new Date(0), /* more */ c: ISODate('2024-02-29T12:00:00.5+01:00')}") ==
        R"({"a": {"$regularExpression": {"pattern": "a[/]b/c\\d", "options": "im"}}, "b": {"$date": "1970-01-01T00:00:00Z"}, )"
        R"("c": {"$date": "2024-02-29T11:00:00.500Z"}})");
  CHECK(relaxed("{a: UUID('00112233-4455-6677-8899-aabbccddeeff'), b: BinData(0, 'AQI='), c: MinKey, d: MaxKey()}") ==
        R"({"a": {"$binary": {"base64": "ABEiM0RVZneImaq7zN3u/w==", "subType": "04"}}, )"
        R"("b": {"$binary": {"base64": "AQI=", "subType": "00"}}, "c": {"$minKey": 1}, "d": {"$maxKey": 1}})");
  CHECK(relaxed("{a: Timestamp(1, 2), b: NumberDecimal('1.50'), c: undefined, d: {$numberDecimal: '1E+3'}}") ==
        R"({"a": {"$timestamp": {"t": 1, "i": 2}}, "b": {"$numberDecimal": "1.50"}, "c": {"$undefined": true}, )"
        R"("d": {"$numberDecimal": "1E+3"}})");
}

TEST_CASE("query operators stay objects") {
  CHECK(relaxed("{a: {$regex: 'x', $options: 'i'}, b: {$gt: 1}}") ==
        R"({"a": {"$regex": "x", "$options": "i"}, "b": {"$gt": 1}})");
  CHECK(relaxed("{a: {$type: 'string'}}") == R"({"a": {"$type": "string"}})");
}

TEST_CASE("malformed JSON is refused with the offset") {
  CHECK(failure("{a: }") == "unknown or malformed value at offset 4");
  CHECK(failure("{a: 1") == "expected '}' at offset 5");
  CHECK(failure("{a: 1} x") == "expected the end at offset 7");
  CHECK(failure("[1]") == "expected an object at offset 0");
  CHECK(failure("{a: 'x}") == "a string without an end at offset 7");
  CHECK(failure("{a: 1e999}") == "malformed number at offset 4");
  CHECK(failure("{\"a\\u0000\": 1}") == "a name must not contain NUL at offset 10");
  for (const char* bad :
       {"{a: {$oid: 'xyz'}}", "{a: {$oid: 5}}", "{a: ObjectId()}", "{a: NumberInt('3000000000')}", "{a: ISODate('2023-02-29')}",
        "{a: {$numberLong: 'x'}}", "{a: '\\ud800'}", "{a: /x", "{a: {$binary: {base64: '!', subType: '0'}}}", "{a: {$date: 'x'}}",
        "{a 1}", "{: 1}", "{a: [}", "", "{", "/*", "{a: new }", "{a: {$minKey: 1, b: 2}}"}) {
    INFO(bad);
    CHECK_FALSE(from_json(bad).ok());
  }
  CHECK_FALSE(from_json(std::string(100000, '[')).ok());
  CHECK_FALSE(from_json("{a: " + std::string(100000, '[')).ok());
}

TEST_CASE("error messages quote values as the shell writes them") {
  CHECK(to_shell(json("{a: 1, b: [1.0, 'x'], c: {}, d: ObjectId('0123456789abcdef01234567'), e: ISODate('1970-01-01T00:00:01Z')}")
                     .view()) ==
        "{ a: 1, b: [ 1.0, \"x\" ], c: {}, d: ObjectId('0123456789abcdef01234567'), e: new Date(1000) }");
}

TEST_CASE("dates are written and read back") {
  CHECK(rc::check("milliseconds in the years 0 to 9999", [] {
    const Date date{*rc::gen::inRange<int64_t>(-62167219200000, 253402300800000)};
    RC_ASSERT(date_from_string(date_to_string(date)) == date);
  }));
  CHECK(date_to_string(Date{-1}) == "1969-12-31T23:59:59.999Z");
  CHECK(date_to_string(Date{253402300800000}) == "253402300800000");
  CHECK(date_from_string("2024-01-01 10:00") == Date{1704103200000});
  CHECK_FALSE(date_from_string("2024-13-01"));
  CHECK_FALSE(date_from_string("2024-01-01T25:00:00Z"));
  CHECK_FALSE(date_from_string("2024-01-01x"));
}

TEST_CASE("base64 is written and read back") {
  CHECK(rc::check("any bytes", [](const std::string& bytes) { RC_ASSERT(base64_decode(base64_encode(bytes)) == bytes); }));
  CHECK_FALSE(base64_decode("a"));
  CHECK_FALSE(base64_decode("a=b="));
}

}  // namespace
}  // namespace bson
