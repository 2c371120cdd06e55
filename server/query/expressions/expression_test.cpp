#include "server/query/expressions/expression.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/testing.h"
#include "base/utf8.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "server/query/test_support.h"

using namespace server::query;

namespace {

const bson::Document sample = bson::json(
    "{_id: 1, n: 5, d: 2.5, s: 'Grüße', a: [3, 1, 2], o: {x: 1, y: {z: 'deep'}}, l: [{k: 'p', v: 1}, {k: 'q', v: 2}, 7],"
    " t: ISODate('2026-11-20T10:15:30.123Z'), nul: null, big: NumberLong('9223372036854775807')}");

std::string evaluate(const std::string& text) {
  Scope scope(1000);
  scope.define("given", bson::Value(int32_t{42}));
  const bson::Value specification = bson::value_from_json(text).or_throw();
  const ExpressionPtr expression = parse_expression(specification, scope);
  Frame frame(scope, sample);
  const bson::Value value = expression->evaluate(frame);
  return value.exists() ? bson::to_json(value) : "missing";
}

int refused(const std::string& text) {
  return base::testing::code_of([&] { evaluate(text); });
}

void same(const std::string& expression, const std::string& expected) {
  INFO(expression);
  const std::string actual = evaluate(expression);
  if (expected == "missing" || actual == "missing") {
    CHECK(actual == expected);
  } else {
    CHECK(actual == bson::to_json(bson::value_from_json(expected).or_throw()));
  }
}

}  // namespace

TEST_CASE("Field paths go through objects and are mapped over arrays") {
  same("'$n'", "5");
  same("'$o.y.z'", "'deep'");
  same("'$l.v'", "[1, 2]");
  same("'$nothing'", "missing");
  same("'$n.x'", "missing");
  same("'$$ROOT.o.x'", "1");
  same("'$$given'", "42");
  same("'$$NOW'", "ISODate('1970-01-01T00:00:01Z')");
  same("'plain'", "'plain'");
  same("{a: '$n', b: ['$d', '$nothing']}", "{a: 5, b: [2.5, null]}");
  same("{$literal: '$n'}", "'$n'");
}

TEST_CASE("Arithmetic promotes and refuses as MongoDB does") {
  same("{$add: [1, 2, '$n']}", "8");
  same("{$add: ['$big', 1]}", "9223372036854775808.0");
  same("{$add: ['$t', 1000]}", "ISODate('2026-11-20T10:15:31.123Z')");
  same("{$subtract: ['$t', '$t']}", "NumberLong(0)");
  same("{$multiply: ['$d', 2]}", "5.0");
  same("{$divide: [7, 2]}", "3.5");
  same("{$mod: [-7, 3]}", "-1");
  same("{$type: {$mod: [7, 3.0]}}", "'int'");
  same("{$type: {$mod: [7, 3.5]}}", "'double'");
  same("{$type: {$mod: [7.0, 3]}}", "'double'");
  same("{$type: {$mod: [7, 1e10]}}", "'double'");
  same("{$add: [1, null]}", "null");
  same("{$abs: -3}", "3");
  same("{$round: [2.5]}", "2.0");
  same("{$pow: [2, 10]}", "1024");
  same("{$bitAnd: [6, 3]}", "2");
  CHECK(refused("{$add: [1, 'x']}") == 14);
  CHECK(refused("{$divide: [1, 0]}") == 2);
  CHECK(refused("{$subtract: [1]}") == 16020);
  CHECK(refused("{$sqrt: -1}") == 28714);
}

TEST_CASE("Trigonometry in radians, over what each function is defined for") {
  same("{$round: [{$sin: 1}, 12]}", "0.841470984808");
  same("{$cos: 0}", "1.0");
  same("{$eq: [{$tan: NumberDecimal('0')}, 0]}", "true");
  same("{$round: [{$acos: NumberDecimal('-1')}, 20]}", "NumberDecimal('3.14159265358979323846')");
  same("{$atan2: [0, -1]}", "3.141592653589793");
  same("{$round: [{$atan2: [NumberDecimal('1'), 1]}, 10]}", "NumberDecimal('0.7853981634')");
  same("{$acosh: 1}", "0.0");
  same("{$atanh: 1}", "Infinity");
  same("{$sinh: {$literal: Infinity}}", "Infinity");
  same("{$degreesToRadians: 180}", "3.141592653589793");
  same("{$radiansToDegrees: {$literal: 3.141592653589793}}", "180.0");
  same("{$degreesToRadians: NumberDecimal('180')}", "NumberDecimal('3.141592653589793238462643383279503')");
  same("{$sin: null}", "null");
  same("{$sin: {$literal: NaN}}", "NaN");
  CHECK(refused("{$sin: {$literal: Infinity}}") == 50989);
  CHECK(refused("{$acos: 1.1}") == 50989);
  CHECK(refused("{$acosh: 0.5}") == 50989);
  CHECK(refused("{$atanh: NumberDecimal('-1.5')}") == 50989);
  CHECK(refused("{$sin: 'x'}") == 28765);
  CHECK(refused("{$atan2: ['x', 1]}") == 51044);
  CHECK(refused("{$atan2: [1, 'x']}") == 51045);
}

TEST_CASE("Percentiles of an array's numbers") {
  same("{$median: {input: [5, 1, 'x', 3, null], method: 'approximate'}}", "3.0");
  same("{$median: {input: 7, method: 'approximate'}}", "7.0");
  same("{$median: {input: [], method: 'approximate'}}", "null");
  same("{$percentile: {input: [1, 2, 3, 4], p: [0, 0.5, 0.51, 1], method: 'approximate'}}", "[1.0, 2.0, 3.0, 4.0]");
  same("{$percentile: {input: '$nothing', p: [0.5], method: 'approximate'}}", "[null]");
  CHECK(refused("{$median: {input: [1], method: 'exact'}}") == 2);
  CHECK(refused("{$median: {input: [1]}}") == 40414);
  CHECK(refused("{$percentile: {input: [1], p: [1.5], method: 'approximate'}}") == 7750303);
  CHECK(refused("{$percentile: {input: [1], p: ['x'], method: 'approximate'}}") == 7750302);
  CHECK(refused("{$percentile: {input: [1], p: [], method: 'approximate'}}") == 7750300);
  CHECK(refused("{$percentile: {input: [1], p: [0.5], method: 'approximate', q: 1}}") == 40415);
}

TEST_CASE("Sizes and parts of timestamps") {
  same("{$binarySize: '$s'}", "7");
  same("{$binarySize: null}", "null");
  same("{$bsonSize: {$literal: {a: 1}}}", "12");
  same("{$tsSecond: Timestamp(5, 7)}", "NumberLong(5)");
  same("{$tsIncrement: Timestamp(5, 7)}", "NumberLong(7)");
  CHECK(refused("{$binarySize: 1}") == 51276);
  CHECK(refused("{$bsonSize: 1}") == 31393);
  CHECK(refused("{$tsSecond: 1}") == 5687301);
  CHECK(refused("{$tsIncrement: 1}") == 5687302);
}

TEST_CASE("Comparison, logic and choice") {
  same("{$eq: ['$n', 5.0]}", "true");
  same("{$cmp: ['a', 'b']}", "-1");
  same("{$gt: ['$nothing', null]}", "false");
  same("{$and: [true, 1, '$n']}", "true");
  same("{$or: [false, 0, '$nul']}", "false");
  same("{$not: ['$nul']}", "true");
  same("{$cond: {if: {$gt: ['$n', 4]}, then: 'big', else: 'small'}}", "'big'");
  same("{$ifNull: ['$nothing', '$nul', 'x']}", "'x'");
  same("{$switch: {branches: [{case: {$eq: ['$n', 5]}, then: 'five'}], default: 'other'}}", "'five'");
  CHECK(refused("{$switch: {branches: [{case: false, then: 1}]}}") == 40066);
  CHECK(refused("{$cond: {if: true, then: 1}}") == 17082);
}

TEST_CASE("Strings by bytes and by code points") {
  same("{$concat: ['$s', '!']}", "'Grüße!'");
  same("{$toUpper: 'abc'}", "'ABC'");
  same("{$strLenBytes: '$s'}", "7");
  same("{$strLenCP: '$s'}", "5");
  same("{$substrCP: ['$s', 2, 2]}", "'üß'");
  same("{$split: ['a,b,,c', ',']}", "['a', 'b', '', 'c']");
  same("{$indexOfCP: ['$s', 'ß']}", "3");
  same("{$trim: {input: '  x  '}}", "'x'");
  same("{$ltrim: {input: 'xxaxx', chars: 'x'}}", "'axx'");
  same("{$replaceAll: {input: 'a.b.c', find: '.', replacement: '-'}}", "'a-b-c'");
  same("{$replaceAll: {input: 'é☃x', find: '', replacement: '-'}}", "'-é-☃-x-'");
  same("{$replaceOne: {input: 'a.b.c', find: '.', replacement: '-'}}", "'a-b.c'");
  same("{$regexMatch: {input: '$s', regex: '^gr', options: 'i'}}", "true");
  same("{$regexFind: {input: '$s', regex: 'ü(.)'}}", "{match: 'üß', idx: 2, captures: ['ß']}");
  same("{$size: {$regexFindAll: {input: 'banana', regex: 'an'}}}", "2");
  same("{$map: {input: {$regexFindAll: {input: 'ab', regex: 'b*'}}, in: '$$this.idx'}}", "[0, 1]");
  same("{$size: {$regexFindAll: {input: '', regex: 'x*'}}}", "1");
  CHECK(refused("{$concat: [1]}") == 16702);
  CHECK(refused("{$substrBytes: ['$s', 3, 1]}") == 28656);
}

TEST_CASE("Arrays") {
  same("{$size: '$a'}", "3");
  same("{$arrayElemAt: ['$a', -1]}", "2");
  same("{$arrayElemAt: ['$a', 9]}", "missing");
  same("{$in: [1, '$a']}", "true");
  same("{$slice: ['$a', -2]}", "[1, 2]");
  same("{$slice: ['$a', 1, 1]}", "[1]");
  same("{$concatArrays: ['$a', [9]]}", "[3, 1, 2, 9]");
  same("{$reverseArray: '$a'}", "[2, 1, 3]");
  same("{$range: [0, 10, 3]}", "[0, 3, 6, 9]");
  same("{$indexOfArray: ['$a', 2]}", "2");
  same("{$sortArray: {input: '$a', sortBy: -1}}", "[3, 2, 1]");
  same("{$zip: {inputs: [[1, 2], ['a']], useLongestLength: true, defaults: [0, 'z']}}", "[[1, 'a'], [2, 'z']]");
  same("{$map: {input: '$a', as: 'x', in: {$multiply: ['$$x', '$n']}}}", "[15, 5, 10]");
  same("{$filter: {input: '$a', cond: {$gt: ['$$this', 1]}, limit: 1}}", "[3]");
  same("{$reduce: {input: '$a', initialValue: 0, in: {$add: ['$$value', '$$this']}}}", "6");
  same("{$let: {vars: {x: 1, y: '$n'}, in: {$add: ['$$x', '$$y']}}}", "6");
  same("{$sum: '$a'}", "6");
  same("{$avg: [1, 2, 3, 4]}", "2.5");
  same("{$max: '$a'}", "3");
  same("{$firstN: {input: '$a', n: 2}}", "[3, 1]");
  CHECK(refused("{$size: '$n'}") == 17124);
  CHECK(refused("'$$undefined'") == 17276);
}

TEST_CASE("Objects and sets") {
  same("{$mergeObjects: ['$o', {x: 2, w: 3}]}", "{x: 2, y: {z: 'deep'}, w: 3}");
  same("{$objectToArray: {a: 1}}", "[{k: 'a', v: 1}]");
  same("{$arrayToObject: [[['a', 1], ['b', 2]]]}", "{a: 1, b: 2}");
  same("{$getField: {field: 'x', input: '$o'}}", "1");
  same("{$setField: {field: 'x', input: '$o', value: 9}}", "{x: 9, y: {z: 'deep'}}");
  same("{$setUnion: [[1, 2], [2, 3]]}", "[1, 2, 3]");
  same("{$setDifference: [[1, 2, 2], [2]]}", "[1]");
  same("{$setIsSubset: [[1], '$a']}", "true");
  same("{$setEquals: [[1, 1], [1]]}", "true");
}

TEST_CASE("A name with a NUL in it is no field's name") {
  CHECK(refused("{$setField: {field: 'a\\u0000b', input: '$o', value: 1}}") == 9534701);
  CHECK(refused("{$unsetField: {field: '\\u0000', input: '$o'}}") == 9534701);
  CHECK(refused("{$arrayToObject: [[['a\\u0000b', 1]]]}") == 4940400);
  same("{$getField: {field: 'x\\u0000', input: '$o'}}", "missing");
}

TEST_CASE("A refusal quotes whole characters") {
  for (const char* bad : {"{$regexMatch: {input: 'a', regex: 'a', options: 'é'}}", "{$dateToString: {date: '$t', format: '%☃'}}",
                          "{$dateFromString: {dateString: 'x', format: '%é'}}", "{$let: {vars: {'aé b': 1}, in: 1}}"}) {
    try {
      evaluate(bad);
      FAIL(bad);
    } catch (const base::OperationError& error) {
      CHECK(base::is_utf8(error.what()));
    }
  }
}

TEST_CASE("A random number takes no arguments") {
  for (const char* bad : {"{$rand: ['$n']}", "{$rand: {a: 1}}"}) CHECK(refused(bad) == 3040501);
  for (const char* bad : {"{$rand: 1}", "{$rand: null}"}) CHECK(refused(bad) == 10065);
  same("{$lt: [{$rand: {}}, 1]}", "true");
}

TEST_CASE("Conversion") {
  same("{$toInt: '42'}", "42");
  same("{$toString: '$d'}", "'2.5'");
  same("{$toLong: 3.9}", "NumberLong(3)");
  same("{$toBool: 0}", "false");
  same("{$toDate: '2026-11-20'}", "ISODate('2026-11-20')");
  same("{$type: '$a'}", "'array'");
  same("{$type: '$nothing'}", "'missing'");
  same("{$convert: {input: 'x', to: 'int', onError: -1}}", "-1");
  same("{$convert: {input: null, to: 'int', onNull: 0}}", "0");
  CHECK(refused("{$toInt: 'x'}") == 241);
  CHECK(refused("{$toInt: 1e20}") == 241);
}

TEST_CASE("Dates in zones") {
  same("{$year: '$t'}", "2026");
  same("{$dayOfWeek: '$t'}", "6");
  same("{$isoWeek: '$t'}", "47");
  same("{$hour: {date: '$t', timezone: 'Europe/Berlin'}}", "11");
  same("{$hour: {date: '$t', timezone: '-05:30'}}", "4");
  same("{$dateToString: {date: '$t', format: '%Y/%m/%d %H:%M:%S.%L %j'}}", "'2026/11/20 10:15:30.123 324'");
  same("{$dateToString: {date: '$t', format: '%H%z', timezone: 'Asia/Kolkata'}}", "'15+0530'");
  for (const char* beyond : {"{$numberLong: '-9223372036854775808'}", "{$numberLong: '9223372036854775807'}",
                             "{$numberLong: '253402300800000'}", "{$numberLong: '-62167219200001'}"}) {
    INFO(beyond);
    CHECK(refused("{$dateToString: {date: {$toDate: " + std::string(beyond) + "}}}") == 18537);
    CHECK(refused("{$toString: {$toDate: " + std::string(beyond) + "}}") == 18537);
  }
  same("{$toString: {$toDate: {$numberLong: '-62167219200000'}}}", "'0000-01-01T00:00:00.000Z'");
  same("{$toString: {$toDate: {$numberLong: '253402300799999'}}}", "'9999-12-31T23:59:59.999Z'");
  same("{$dateFromString: {dateString: '2026-01-02T03:04:05Z'}}", "ISODate('2026-01-02T03:04:05Z')");
  same("{$dateFromParts: {year: 2026, month: 14, day: 1}}", "ISODate('2027-02-01')");
  same("{$dateAdd: {startDate: ISODate('2026-01-31'), unit: 'month', amount: 1}}", "ISODate('2026-02-28')");
  same("{$dateDiff: {startDate: ISODate('2026-01-31'), endDate: ISODate('2026-02-01'), unit: 'month'}}", "NumberLong(1)");
  same("{$dateTrunc: {date: '$t', unit: 'hour'}}", "ISODate('2026-11-20T10:00:00Z')");
  same("{$dateTrunc: {date: '$t', unit: 'quarter'}}", "ISODate('2026-10-01')");
  same("{$year: '$nul'}", "null");
  CHECK(refused("{$year: 'x'}") == 16006);
  same("{$isoWeekYear: '$t'}", "NumberLong(2026)");
  same("{$year: {$add: [ISODate('1970-01-01'), NumberLong('9000000000000000')]}}", "287168");
  CHECK(refused("{$hour: {date: '$t', timezone: 'Nowhere/Land'}}") == 40485);
}

TEST_CASE("A value that is no expression is refused") {
  CHECK(refused("{$frob: 1}") == 168);
  CHECK(refused("{$add: [1], x: 1}") == 15983);
  CHECK(refused("'$'") == 16872);
  CHECK(refused("'$a..b'") == 15998);
  CHECK(refused("{'a.b': 1}") == 16412);
}

TEST_CASE("Date arithmetic has a time zone, and units that it matters to") {
  const std::string york = "timezone: 'America/New_York'";
  same("{$dateAdd: {startDate: ISODate('2024-03-10T06:30:00Z'), unit: 'hour', amount: 1, " + york + "}}",
       "ISODate('2024-03-10T07:30:00Z')");
  same("{$dateSubtract: {startDate: ISODate('2024-03-10T07:30:00Z'), unit: 'minute', amount: NumberLong(60), " + york + "}}",
       "ISODate('2024-03-10T06:30:00Z')");
  same("{$dateSubtract: {startDate: ISODate('2024-03-10T16:00:00Z'), unit: 'day', amount: 1.0, " + york + "}}",
       "ISODate('2024-03-09T17:00:00Z')");
  same("{$dateDiff: {startDate: ISODate('2024-03-09T17:00:00Z'), endDate: ISODate('2024-03-10T16:00:00Z'), unit: 'day', " + york +
           "}}",
       "NumberLong(1)");
  same("{$dateDiff: {startDate: ISODate('2024-03-09T17:00:00Z'), endDate: ISODate('2024-03-10T17:00:00Z'), unit: 'hour', " +
           york + "}}",
       "NumberLong(24)");
  same("{$dateTrunc: {date: ISODate('2024-11-03T06:45:00Z'), unit: 'minute', binSize: NumberDecimal('30'), " + york + "}}",
       "ISODate('2024-11-03T06:30:00Z')");
  same("{$dateTrunc: {date: ISODate('2000-01-30T18:00:00Z'), unit: 'week', binSize: 2, startOfWeek: 'mon', " + york + "}}",
       "ISODate('2000-01-17T05:00:00Z')");
  same("{$dateFromParts: {year: 2021, month: 3, day: 14, hour: 2, minute: 20, " + york + "}}", "ISODate('2021-03-14T07:20:00Z')");
}

TEST_CASE("Date arithmetic with a null is null, whatever else is wrong") {
  same("{$dateAdd: {startDate: null, unit: 'century', amount: 'x', timezone: 'Nowhere/Land'}}", "null");
  same("{$dateAdd: {startDate: '$t', unit: 'day', amount: 1, timezone: '$nothing'}}", "null");
  same("{$dateDiff: {startDate: 1, endDate: 2, unit: 'century', timezone: null}}", "null");
  same("{$dateDiff: {startDate: 1, endDate: '$nothing', unit: 5, timezone: 'Nowhere/Land'}}", "null");
  same("{$dateDiff: {startDate: 1, endDate: 2, unit: 'week', timezone: 1, startOfWeek: null}}", "null");
  same("{$dateTrunc: {date: '$nothing', unit: 'H', binSize: 'x', timezone: 1}}", "null");
  same("{$dateTrunc: {date: 'x', unit: 'x', binSize: null}}", "null");
  same("{$dateTrunc: {date: '$t', unit: 'year', startOfWeek: 1}}", "ISODate('2026-01-01')");
}

TEST_CASE("Wrong arguments of date arithmetic are refused") {
  const auto add = [](const std::string& rest) { return refused("{$dateAdd: {startDate: '$t', " + rest + "}}"); };
  CHECK(refused("{$dateAdd: 'x'}") == 5166400);
  CHECK(refused("{$dateAdd: {startDate: '$t', units: 'day', amount: 1}}") == 5166401);
  CHECK(refused("{$dateAdd: {unit: 'day', amount: 1}}") == 5166402);
  CHECK(refused("{$dateSubtract: {startDate: 'x', unit: 'year', amount: 10}}") == 5166403);
  CHECK(add("unit: 1, amount: 10") == 5166404);
  CHECK(add("unit: 'epoch', amount: 10") == 9);
  CHECK(add("unit: 'year', amount: 1.001") == 5166405);
  CHECK(add("unit: 'year', amount: 'x'") == 5166405);
  CHECK(add("unit: 'year', amount: 1, timezone: 'Unknown'") == 40485);
  CHECK(add("unit: 'year', amount: 1, timezone: 1") == 40517);
  CHECK(add("unit: 'day', amount: NumberLong('9223372036854775807')") == 5976500);
  CHECK(add("unit: 'millisecond', amount: NumberLong('9223372036854775807')") == 159);
  CHECK(refused("{$dateSubtract: {startDate: '$t', unit: 'hour', amount: NumberLong('-9223372036854775808')}}") == 6045000);
  const auto diff = [](const std::string& rest) { return refused("{$dateDiff: {startDate: '$t', " + rest + "}}"); };
  CHECK(diff("endDate: 1, unit: 'hour'") == 5166307);
  CHECK(diff("endDate: '$t', unit: 5") == 5439013);
  CHECK(diff("endDate: '$t', unit: 'decade'") == 5439014);
  CHECK(diff("endDate: '$t', unit: 'week', startOfWeek: 1") == 5439015);
  CHECK(diff("endDate: '$t', unit: 'week', startOfWeek: 'FRIDIE'") == 5439016);
  CHECK(diff("unit: 'week'") == 5166304);
  CHECK(diff("endDate: '$t'") == 5166305);
  const auto trunc = [](const std::string& rest) { return refused("{$dateTrunc: {date: '$t', " + rest + "}}"); };
  CHECK(refused("{$dateTrunc: {date: 'x', unit: 'hour'}}") == 5439012);
  CHECK(trunc("unit: 'century'") == 5439014);
  CHECK(trunc("unit: 'hour', binSize: 'x'") == 5439017);
  CHECK(trunc("unit: 'hour', binSize: 2.5") == 5439017);
  CHECK(trunc("unit: 'hour', binSize: 0") == 5439018);
  CHECK(trunc("unit: 'hour', binSize: -3") == 5439018);
  CHECK(trunc("unit: 'hour', binSize: NumberLong('9223372036854775807')") == 5439002);
  CHECK(trunc("unit: 'year', binSize: NumberLong('9223372036854775807')") == 5439006);
}

TEST_CASE("texts and arrays end where a buffer does") {
  const auto doubled = [](const std::string& name, const std::string& initial) {
    return "{$reduce: {input: {$range: [0, 40]}, initialValue: " + initial + ", in: {" + name + ": ['$$value', '$$value']}}}";
  };
  CHECK(refused(doubled("$concat", "'0123456789'")) == 13548);
  CHECK(refused(doubled("$concatArrays", "[1, 2, 3]")) == 13548);
  CHECK(refused("{$reduce: {input: {$range: [0, 40]}, initialValue: 'aa', in: "
                "{$replaceAll: {input: '$$value', find: 'a', replacement: 'aaaa'}}}}") == 13548);
}

TEST_CASE("a search for all matches of a pattern counts code points on from the last match") {
  same("{$map: {input: {$regexFindAll: {input: 'aüb€c', regex: ''}}, in: '$$this.idx'}}", "[0, 1, 2, 3, 4]");
  same("{$map: {input: {$regexFindAll: {input: 'üüaüa', regex: 'a'}}, in: '$$this.idx'}}", "[2, 4]");
  const std::string text(100'000, 'x');
  same("{$size: {$regexFindAll: {input: '" + text + "', regex: ''}}}", "100000");
  CHECK(refused("{$regexMatch: {input: '" + text + "y', regex: '^(x+x+)+z'}}") == 51156);
}

namespace {

// Evaluates `text` for an operation that is killed before it begins, and returns the error's code; 0: it came to its end.
int stopped(const std::string& text) {
  TestServer server;
  TestServer::Operation operation(server);
  ::server::OperationContext* current = nullptr;
  ::server::Allowance allowance(current, nullptr);
  Scope scope(1000, &allowance);
  const bson::Value specification = bson::value_from_json(text).or_throw();
  const ExpressionPtr expression = parse_expression(specification, scope);
  operation.op.kill();
  current = &operation.op;
  return base::testing::code_of([&] {
    Frame frame(scope, sample);
    expression->evaluate(frame);
  });
}

}  // namespace

TEST_CASE("an operation that computes for long is counted until it ends") {
  TestServer server;
  std::atomic<int>& computing = server.services().operations.computing();
  {
    TestServer::Operation operation(server);
    ::server::OperationContext* current = &operation.op;
    ::server::Allowance allowance(current, nullptr);
    Scope scope(1000, &allowance);
    const auto evaluated = [&](const std::string& text) {
      const bson::Value specification = bson::value_from_json(text).or_throw();
      const ExpressionPtr expression = parse_expression(specification, scope);
      Frame frame(scope, sample);
      return expression->evaluate(frame);
    };
    evaluated("{$add: ['$n', 1]}");
    CHECK(computing == 0);
    evaluated("{$size: {$map: {input: {$range: [0, {$multiply: ['$n', 200000]}]}, in: 1}}}");
    CHECK(computing == 1);
  }
  CHECK(computing == 0);
}

TEST_CASE("a pattern that documents have is as long as others may be") {
  const std::string part(16'377, 'x');
  const auto matches = [](const std::string& pattern) {
    return "{$regexMatch: {input: '$s', regex: {$concat: " + pattern + "}}}";
  };
  same(matches("['" + part + "', '" + part + "|', '$s', '|']"), "true");
  CHECK(refused(matches("['" + part + part + "xxxx', '$s', '']")) == 51111);
  same(
      "{$map: {input: ['r', 'x', 'r', '('], in: {$cond: [{$eq: ['$$this', '(']}, 0, {$regexMatch: {input: '$s', regex: "
      "'$$this'}}]}}}",
      "[true, false, true, 0]");
}

TEST_CASE("a search for a text takes no longer than both texts together") {
  const std::string text = "'" + std::string(4 << 20, 'a') + "'", sought = "'" + std::string(2 << 20, 'a') + "b'";
  const auto among = [&](const std::string& other) { return "[{$concat: ['$s', " + text + "]}, " + other + "]"; };
  same("{$indexOfBytes: " + among(sought) + "}", "-1");
  same("{$indexOfCP: " + among(sought) + "}", "-1");
  same("{$size: {$split: " + among(sought) + "}}", "1");
  same("{$strLenCP: {$replaceAll: {input: {$concat: ['$s', " + text + "]}, find: " + sought + ", replacement: ''}}}",
       std::to_string(5 + (4 << 20)));
  // A match may lie across the pieces in which the text is searched.
  same("{$indexOfBytes: [{$concat: ['$s', " + text + ", 'bc', " + text + "]}, 'abc']}", std::to_string(7 + (4 << 20) - 1));
  same("{$indexOfCP: [{$concat: ['$s', " + text + ", 'bc']}, '" + std::string(3 << 20, 'a') + "bc']}",
       std::to_string(5 + (1 << 20)));
  same("{$indexOfBytes: ['$s', '', 3]}", "3");
  same("{$indexOfBytes: ['$s', '', 7]}", "7");
  same("{$indexOfBytes: ['$s', 'e', 7]}", "-1");
}

TEST_CASE("an evaluation looks at its operation while it works") {
  constexpr int interrupted = 11601;
  const std::string many = "{$range: [0, {$multiply: ['$n', 20000]}]}";
  for (const std::string& one : {
           many,
           "{$map: {input: " + many + ", in: 1}}",
           "{$filter: {input: " + many + ", cond: true}}",
           "{$reduce: {input: " + many + ", initialValue: 0, in: '$$this'}}",
           "{$setUnion: [" + many + "]}",
           "{$sortArray: {input: " + many + ", sortBy: -1}}",
           "{$sum: " + many + "}",
           "{$zip: {inputs: [" + many + ", " + many + "]}}",
           "{$regexMatch: {input: {$concat: ['$s', '" + std::string(1 << 15, 'x') + "']}, regex: '(?=x)x+[yz]'}}",
           "{$regexMatch: {input: {$concat: ['$s', '" + std::string(1 << 15, 'x') +
               "']}, regex: {$concat: ['x', '$s', '|(?=x)x+[yz]']}}}",
       }) {
    INFO(one);
    CHECK(stopped(one) == interrupted);
  }
  CHECK(stopped("{$add: ['$n', 1]}") == 0);
}
