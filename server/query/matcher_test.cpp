#include "server/query/matcher.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/testing.h"
#include "bson/json.h"
#include "server/query/test_support.h"

namespace server::query {
namespace {

struct Case {
  const char* filter;
  const char* document;
  bool matches;
};

bool matches(const char* filter, const char* document) {
  return Matcher::parse(bson::json(filter))->matches(bson::json(document));
}

void check(std::initializer_list<Case> cases) {
  for (const Case& one : cases) {
    INFO(one.filter << " over " << one.document);
    CHECK(matches(one.filter, one.document) == one.matches);
  }
}

struct Bad {
  const char* filter;
  int32_t code;
  const char* message;
};

void check_refused(std::initializer_list<Bad> cases) {
  for (const Bad& one : cases) {
    INFO(one.filter);
    try {
      Matcher::parse(bson::json(one.filter));
      FAIL_CHECK("was not refused");
    } catch (const base::OperationError& error) {
      CHECK(static_cast<int32_t>(error.code()) == one.code);
      CHECK(std::string(error.what()) == one.message);
    }
  }
}

TEST_CASE("comparisons stay within a type's bracket") {
  check({
      {"{a: 5}", "{a: 5}", true},
      {"{a: 5}", "{a: 5.0}", true},
      {"{a: 5}", "{a: {$numberDecimal: '5.00'}}", true},
      {"{a: 5}", "{a: '5'}", false},
      {"{a: {$lt: 5}}", "{a: 4}", true},
      {"{a: {$lt: 5}}", "{a: 'x'}", false},
      {"{a: {$lt: 5}}", "{}", false},
      {"{a: {$gte: 'b'}}", "{a: 'b'}", true},
      {"{a: {$gt: 'b'}}", "{a: 'b'}", false},
      {"{a: {$gt: 1, $lt: 3}}", "{a: 2}", true},
      {"{a: {$ne: 5}}", "{a: 6}", true},
      {"{a: {$ne: 5}}", "{}", true},
      {"{a: {$ne: 5}}", "{a: [5, 6]}", false},
      {"{a: {$gt: {$minKey: 1}}}", "{a: 1}", true},
      {"{a: {$gt: {$minKey: 1}}}", "{}", true},
      {"{a: {$lt: {$maxKey: 1}}}", "{a: 'x'}", true},
      {"{a: {$lt: {$minKey: 1}}}", "{a: 'x'}", false},
  });
}

TEST_CASE("NaN equals itself and nothing else") {
  check({
      {"{a: {$numberDouble: 'NaN'}}", "{a: {$numberDouble: 'NaN'}}", true},
      {"{a: {$numberDouble: 'NaN'}}", "{a: {$numberDecimal: 'NaN'}}", true},
      {"{a: {$lt: 5}}", "{a: {$numberDouble: 'NaN'}}", false},
      {"{a: {$lte: {$numberDouble: 'NaN'}}}", "{a: {$numberDouble: 'NaN'}}", true},
      {"{a: {$lte: {$numberDouble: 'NaN'}}}", "{a: 1}", false},
      {"{a: {$lt: {$numberDouble: 'NaN'}}}", "{a: {$numberDouble: 'NaN'}}", false},
  });
}

TEST_CASE("null matches what isn't there") {
  check({
      {"{a: null}", "{}", true},
      {"{a: null}", "{a: null}", true},
      {"{a: null}", "{a: {$undefined: true}}", true},
      {"{a: null}", "{a: 0}", false},
      {"{a: null}", "{a: [1, null]}", true},
      {"{a: null}", "{a: []}", false},
      {"{'a.b': null}", "{a: 5}", true},
      {"{'a.b': null}", "{a: [1, 2]}", false},
      {"{'a.b': null}", "{a: []}", false},
      {"{'a.b': null}", "{a: [{b: 1}, {c: 1}]}", true},
      {"{a: {$lte: null}}", "{}", true},
      {"{a: {$lt: null}}", "{}", false},
      {"{a: {$in: [null, 4]}}", "{}", true},
      {"{a: {$nin: [null]}}", "{}", false},
      {"{a: {$not: {$exists: true}}}", "{}", true},
  });
}

TEST_CASE("arrays fan out, at the end and on the way") {
  check({
      {"{a: 2}", "{a: [1, 2]}", true},
      {"{a: [1, 2]}", "{a: [1, 2]}", true},
      {"{a: [1, 2]}", "{a: [[1, 2]]}", true},
      {"{a: [2, 1]}", "{a: [1, 2]}", false},
      {"{a: []}", "{a: []}", true},
      {"{a: {$gt: 1, $lt: 2}}", "{a: [0, 3]}", true},
      {"{'a.b': 2}", "{a: [{b: 1}, {b: [2, 3]}]}", true},
      {"{'a.b': [2, 3]}", "{a: [{b: 1}, {b: [2, 3]}]}", true},
      {"{'a.0': 7}", "{a: [7, 8]}", true},
      {"{'a.1': 7}", "{a: [7, 8]}", false},
      {"{'a.0': 7}", "{a: [{'0': 7}]}", true},
      {"{'a.1': [2, 4]}", "{a: [5, [2, 4]]}", true},
      {"{'a.1': 2}", "{a: [5, [2, 4]]}", false},
      {"{'a.1.0': 2}", "{a: [5, [2, 4]]}", true},
      {"{'a.1.b': 4}", "{a: [5, {b: 4}]}", true},
      {"{'a.b.c': 1}", "{a: [{b: [{c: 1}]}]}", true},
      {"{'a.b': 1}", "{a: [[{b: 1}]]}", false},
  });
}

TEST_CASE("$and, $or, $nor and $not nest") {
  check({
      {"{$and: [{a: 1}, {b: 2}]}", "{a: 1, b: 2}", true},
      {"{$or: [{a: 1}, {b: 2}]}", "{a: 3, b: 2}", true},
      {"{$or: [{a: 1}, {b: 2}], c: 3}", "{a: 1, c: 4}", false},
      {"{$nor: [{a: 1}, {b: 2}]}", "{a: 3, b: 3}", true},
      {"{$nor: [{a: 1}]}", "{a: 1}", false},
      {"{a: {$not: {$gt: 3}}}", "{a: 2}", true},
      {"{a: {$not: {$gt: 3}}}", "{a: 'x'}", true},
      {"{a: {$not: {$gt: 1, $lt: 5}}}", "{a: 3}", false},
      {"{a: {$not: {$regex: '^x'}}}", "{a: 'xy'}", false},
      {"{$comment: 'why', a: 1}", "{a: 1}", true},
      {"{$alwaysFalse: 1}", "{}", false},
      {"{}", "{}", true},
  });
}

TEST_CASE("$in takes values and regular expressions") {
  check({
      {"{a: {$in: [1, 'x']}}", "{a: 'x'}", true},
      {"{a: {$in: [1, 'x']}}", "{a: [3, 1]}", true},
      {"{a: {$in: []}}", "{a: 1}", false},
      {"{a: {$in: [{$regularExpression: {pattern: '^b', options: ''}}]}}", "{a: 'abc'}", false},
      {"{a: {$in: [{$regularExpression: {pattern: '^a', options: ''}}]}}", "{a: 'abc'}", true},
      {"{a: {$nin: [1, 2]}}", "{a: 3}", true},
      {"{a: {$in: [[1, 2]]}}", "{a: [1, 2]}", true},
  });
}

TEST_CASE("$exists and $type look at what is there") {
  check({
      {"{a: {$exists: true}}", "{a: null}", true},
      {"{a: {$exists: true}}", "{a: []}", true},
      {"{a: {$exists: false}}", "{b: 1}", true},
      {"{'a.b': {$exists: true}}", "{a: [{b: 1}]}", true},
      {"{'a.b': {$exists: false}}", "{a: [1]}", true},
      {"{a: {$type: 'string'}}", "{a: 'x'}", true},
      {"{a: {$type: 2}}", "{a: ['x']}", true},
      {"{a: {$type: 'array'}}", "{a: ['x']}", true},
      {"{a: {$type: 'array'}}", "{a: 'x'}", false},
      {"{a: {$type: 'number'}}", "{a: 5}", true},
      {"{a: {$type: ['string', 'number']}}", "{a: 5.5}", true},
      {"{a: {$type: -1}}", "{a: {$minKey: 1}}", true},
      {"{a: {$type: 'null'}}", "{}", false},
  });
}

TEST_CASE("$regex finds") {
  check({
      {"{a: {$regex: 'b+'}}", "{a: 'abbc'}", true},
      {"{a: {$regex: 'B', $options: 'i'}}", "{a: 'abc'}", true},
      {"{a: {$options: 'i', $regex: 'B'}}", "{a: 'abc'}", true},
      {"{a: {$regex: 'B'}}", "{a: 'abc'}", false},
      {"{a: {$regex: '^c', $options: 'm'}}", "{a: 'ab\\ncd'}", true},
      {"{a: {$regex: 'a.c', $options: 's'}}", "{a: 'a\\nc'}", true},
      {"{a: {$regex: 'a c # x', $options: 'x'}}", "{a: 'ac'}", true},
      {"{a: {$regex: '^a'}}", "{a: ['b', 'a']}", true},
      {"{a: {$regex: 'a'}}", "{a: 5}", false},
      {"{a: {$regex: '^.$'}}", "{a: 'é'}", true},
  });
}

TEST_CASE("array operators take arrays as wholes") {
  check({
      {"{a: {$size: 2}}", "{a: [1, 2]}", true},
      {"{a: {$size: 2}}", "{a: [[1, 2]]}", false},
      {"{a: {$all: [1, 2]}}", "{a: [2, 1, 3]}", true},
      {"{a: {$all: [1, 4]}}", "{a: [2, 1, 3]}", false},
      {"{a: {$all: []}}", "{a: []}", false},
      {"{a: {$all: [5]}}", "{a: 5}", true},
      {"{a: {$elemMatch: {$gt: 1, $lt: 3}}}", "{a: [0, 2]}", true},
      {"{a: {$elemMatch: {$gt: 1, $lt: 3}}}", "{a: [0, 4]}", false},
      {"{a: {$elemMatch: {b: 1, c: 2}}}", "{a: [{b: 1, c: 2}]}", true},
      {"{a: {$elemMatch: {b: 1, c: 2}}}", "{a: [{b: 1}, {c: 2}]}", false},
      {"{a: {$elemMatch: {$or: [{b: 1}, {b: 2}]}}}", "{a: [{b: 2}]}", true},
      {"{a: {$elemMatch: {$not: {$gt: 1}}}}", "{a: [5, 1]}", true},
      {"{a: {$all: [{$elemMatch: {b: 1}}, {$elemMatch: {b: 2}}]}}", "{a: [{b: 1}, {b: 2}]}", true},
      {"{a: {$elemMatch: {b: 1}}}", "{a: {b: 1}}", false},
      {"{'a.b': {$elemMatch: {$gt: 4}}}", "{a: [{b: [5]}]}", true},
  });
}

TEST_CASE("$mod and bits count") {
  check({
      {"{a: {$mod: [4, 1]}}", "{a: 5}", true},
      {"{a: {$mod: [4, 1]}}", "{a: 5.9}", true},
      {"{a: {$mod: [4, -1]}}", "{a: -5}", true},
      {"{a: {$mod: [4, 1]}}", "{a: 'x'}", false},
      {"{a: {$bitsAllSet: [0, 2]}}", "{a: 5}", true},
      {"{a: {$bitsAllSet: 7}}", "{a: 5}", false},
      {"{a: {$bitsAnySet: 7}}", "{a: 4}", true},
      {"{a: {$bitsAllClear: [1]}}", "{a: 5}", true},
      {"{a: {$bitsAnyClear: [0, 1]}}", "{a: 5}", true},
      {"{a: {$bitsAllSet: [200]}}", "{a: -1}", true},
      {"{a: {$bitsAllSet: [0]}}", "{a: 1.5}", false},
      {"{a: {$bitsAllSet: [0, 1]}}", "{a: {$binary: {base64: 'Aw==', subType: '00'}}}", true},
  });
}

TEST_CASE("a bad filter is refused in MongoDB's words") {
  check_refused({
      {"{a: {$foo: 1}}", 2, "unknown operator: $foo"},
      {"{$foo: 1}", 2,
       "unknown top level operator: $foo. If you have a field name that starts with a '$' symbol, consider using $getField or "
       "$setField."},
      {"{$or: 1}", 2, "$or must be an array"},
      {"{$or: []}", 2, "$and/$or/$nor must be a nonempty array"},
      {"{$and: [1]}", 2, "$or/$and/$nor entries need to be full objects"},
      {"{a: {$in: 1}}", 2, "$in needs an array"},
      {"{a: {$nin: 1}}", 2, "$nin needs an array"},
      {"{a: {$in: [{$gt: 1}]}}", 2, "cannot nest $ under $in"},
      {"{a: {$not: 1}}", 2, "$not needs a regex or a document"},
      {"{a: {$not: {}}}", 2, "$not cannot be empty"},
      {"{a: {$size: 'x'}}", 2, "Failed to parse $size. Expected a number in: $size: \"x\""},
      {"{a: {$size: -1}}", 2, "Failed to parse $size. Expected a non-negative number in: $size: -1"},
      {"{a: {$size: 1.5}}", 2, "Failed to parse $size. Expected an integer: $size: 1.5"},
      {"{a: {$all: 1}}", 2, "$all needs an array"},
      {"{a: {$all: [{$gt: 1}]}}", 2, "no $ expressions in $all"},
      {"{a: {$elemMatch: 1}}", 2, "$elemMatch needs an Object"},
      {"{a: {$mod: [1]}}", 2, "malformed mod, not enough elements"},
      {"{a: {$mod: [0, 1]}}", 2, "divisor cannot be 0"},
      {"{a: {$mod: 3}}", 2, "malformed mod, needs to be an array"},
      {"{a: {$type: 'foo'}}", 2, "Unknown type name alias: foo"},
      {"{a: {$type: []}}", 9, "$type must match at least one type"},
      {"{a: {$type: {}}}", 14, "type must be represented as a number or a string"},
      {"{a: {$options: 'i'}}", 2, "$options needs a $regex"},
      {"{a: {$regex: 5}}", 2, "$regex has to be a string"},
      {"{a: {$regex: 'a', $options: 'q'}}", 51108, "invalid flag in regex options: q"},
      {"{a: {$regex: 'a', $options: 'ié'}}", 51108, "invalid flag in regex options: é"},
      {"{a: {$gt: {$regularExpression: {pattern: 'a', options: ''}}}}", 2,
       "Can't have RegEx as arg to predicate over field 'a'."},
      {"{a: {$where: '1'}}", 2, "$where cannot be applied to a field"},
      {"{a: {$bitsAllSet: -1}}", 9, "Expected a non-negative number in: $bitsAllSet: -1"},
  });
}

TEST_CASE("filters with patterns end with their operation") {
  constexpr int interrupted = 11601;
  TestServer server;
  TestServer::Operation operation(server);
  OperationContext* current = nullptr;
  Allowance allowance(current, nullptr);
  const auto code_of = [&](const bson::Document& filter, const bson::Document& document, bool parsing) {
    TestServer::Operation killed(server);
    killed.op.kill();
    current = parsing ? &killed.op : nullptr;
    const int code = base::testing::code_of([&] {
      ParseContext context;
      context.allowance = &allowance;
      const auto matcher = Matcher::parse(filter, context);
      current = &killed.op;
      matcher->matches(document);
    });
    current = nullptr;
    return code;
  };
  bson::Builder many;
  {
    auto field = many.object("a");
    auto list = field.array("$in");
    for (int i = 0; i < 3000; ++i) list.append(bson::Regex{std::to_string(i) + "x", ""});
  }
  const bson::Document list = many.done();
  CHECK(code_of(list, bson::json("{a: 'y'}"), true) == interrupted);
  CHECK(code_of(list, bson::json("{a: 'y'}"), false) == interrupted);
  CHECK(code_of(bson::json("{a: {$regex: 'y'}}"), bson::json("{a: 'y'}"), false) == 0);

  const bson::Document text = bson::Builder().append("a", std::string(40'000, 'x')).done();
  for (const char* filter :
       {"{a: {$regex: '(?=x)x+[yz]'}}", "{a: {$in: [{$regularExpression: {pattern: '(?=x)x+[yz]', options: ''}}]}}",
        "{a: {$not: {$regex: '(?=x)x+[yz]'}}}", "{$jsonSchema: {properties: {a: {pattern: '(?=x)x+[yz]'}}}}"}) {
    INFO(filter);
    CHECK(code_of(bson::json(filter), text, false) == interrupted);
  }
}

TEST_CASE("bits of binary data are those of bytes from the least significant on") {
  const auto binary = [](std::string_view bytes) { return bson::Builder().append("a", bson::Binary{0, bytes}).done(); };
  const auto holds = [](const char* name, const bson::Document& mask, const bson::Document& value) {
    bson::Builder filter;
    filter.object("a").append(name, mask["a"]);
    return Matcher::parse(filter.done())->matches(value);
  };
  const std::string large(1 << 20, '\x55');
  std::string less = large;
  less.back() = '\x54';
  CHECK(holds("$bitsAllSet", binary(large), binary(large)));
  CHECK_FALSE(holds("$bitsAllSet", binary(large), binary(less)));
  CHECK(holds("$bitsAnyClear", binary(large), binary(less)));
  CHECK_FALSE(holds("$bitsAnyClear", binary(large), binary(large)));
  CHECK(holds("$bitsAllClear", binary(large), binary(std::string(1 << 20, '\xaa'))));
  CHECK_FALSE(holds("$bitsAnySet", binary(large), binary(std::string(1 << 20, '\xaa'))));
  CHECK(holds("$bitsAnySet", binary(large), binary("\x01")));
  CHECK_FALSE(holds("$bitsAllSet", binary(large), binary("\x55")));
  CHECK(holds("$bitsAllSet", binary(std::string("\x0f\0\0\0\0\0\0\0\x01", 9)), bson::json("{a: -1}")));
  CHECK_FALSE(holds("$bitsAllSet", binary(std::string("\x0f\0\0\0\0\0\0\0\x01", 9)), bson::json("{a: 15}")));
  CHECK(holds("$bitsAllClear", binary(std::string("\0\0", 2)), bson::json("{a: 15}")));
  CHECK_FALSE(holds("$bitsAnySet", binary(""), bson::json("{a: 15}")));

  // An operator of megabytes counts as such.
  TestServer server;
  TestServer::Operation operation(server);
  OperationContext* current = nullptr;
  Allowance allowance(current, nullptr);
  ParseContext context;
  context.allowance = &allowance;
  bson::Builder filter;
  filter.object("a").append("$bitsAnySet", bson::Binary{0, large});
  const auto matcher = Matcher::parse(filter.done(), context);
  operation.op.kill();
  current = &operation.op;
  CHECK_THROWS_AS(matcher->matches(bson::json("{a: 0}")), base::OperationError);
}

TEST_CASE("a filter nested too deep is refused, not overflowed") {
  std::string filter = "{a: 1}";
  for (int i = 0; i < 70; ++i) filter = "{$nor: [" + filter + ", {b: 1}]}";
  CHECK_NOTHROW(Matcher::parse(bson::json(filter)));
  for (int i = 0; i < 20; ++i) filter = "{a: {$elemMatch: " + filter + "}}";
  for (int i = 0; i < 20; ++i) filter = "{a: {$elemMatch: " + filter + "}}";
  CHECK_THROWS_AS(Matcher::parse(bson::json(filter)), base::OperationError);
}

TEST_CASE("a match reports through which element of the array") {
  const auto position = [](const char* filter, const char* document) {
    std::optional<std::string> position;
    REQUIRE(Matcher::parse(bson::json(filter))->matches(bson::json(document), position));
    return position.value_or("none");
  };
  CHECK(position("{a: 7}", "{a: [5, 7]}") == "1");
  CHECK(position("{a: 7}", "{a: 7}") == "none");
  CHECK(position("{'a.b': 7}", "{a: [{b: 1}, {b: [0, 7]}]}") == "1");
  CHECK(position("{a: {$elemMatch: {b: 2}}}", "{a: [{b: 1}, {b: 1}, {b: 2}]}") == "2");
  CHECK(position("{a: {$gt: 1}, b: 2}", "{a: [0, 5], b: [2]}") == "0");
}

TEST_CASE("operators alone apply to a value as it is") {
  const auto matcher = Matcher::parse_operators(bson::json("{$gt: 3, $lt: 9}"));
  CHECK(matcher->matches_value(bson::json("{v: 5}")["v"]));
  CHECK_FALSE(matcher->matches_value(bson::json("{v: 2}")["v"]));
  CHECK_FALSE(matcher->matches_value(bson::json("{v: [5]}")["v"]));
}

TEST_CASE("an upsert begins with the filter's equalities") {
  const auto equalities =
      Matcher::parse(bson::json("{a: 1, b: {$gt: 2}, $and: [{'c.d': {$eq: 'x'}}, {e: {$in: [9]}}], f: {$all: [3]}}"))
          ->equalities();
  REQUIRE(equalities.size() == 4);
  CHECK(equalities[0].first == "a");
  CHECK(equalities[1].first == "c.d");
  CHECK(equalities[2].first == "e");
  CHECK(equalities[3].first == "f");
}

}  // namespace
}  // namespace server::query
