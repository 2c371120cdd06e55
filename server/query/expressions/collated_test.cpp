#include <catch2/catch.hpp>

#include "bson/collation.h"
#include "bson/json.h"
#include "server/query/expressions/accumulate.h"
#include "server/query/expressions/expression.h"

namespace server::query {
namespace {

std::string evaluate(const std::string& text, const char* collation) {
  Scope scope(1000);
  scope.set_collator(bson::collator_of(bson::json(collation)));
  const bson::Value specification = bson::value_from_json(text).or_throw();
  const ExpressionPtr expression = parse_expression(specification, scope);
  const bson::Document document = bson::json("{s: 'A', l: ['b', 'C', 'a']}");
  Frame frame(scope, document);
  return bson::to_json(expression->evaluate(frame));
}

constexpr const char* en = "{locale: 'en', strength: 2}";
constexpr const char* simple = "{locale: 'simple'}";

}  // namespace

TEST_CASE("operators that compare do so by the collation") {
  const struct {
    const char *expression, *collated, *as_bytes;
  } cases[] = {
      {"{$eq: ['$s', 'a']}", "true", "false"},
      {"{$ne: ['$s', 'a']}", "false", "true"},
      {"{$gt: ['b', '$s']}", "true", "true"},
      {"{$gte: ['$s', 'a']}", "true", "false"},
      {"{$lt: ['a', 'B']}", "true", "false"},
      {"{$lte: ['a', '$s']}", "true", "false"},
      {"{$cmp: ['$s', 'a']}", "0", "-1"},
      {"{$cmp: [{x: '$s'}, {x: 'a'}]}", "0", "-1"},
      {"{$cmp: [['$s'], ['a']]}", "0", "-1"},
      {"{$in: ['$s', ['x', 'a']]}", "true", "false"},
      {"{$indexOfArray: [['x', 'a'], '$s']}", "1", "-1"},
      {"{$setUnion: [['a'], ['$s']]}", "[\"a\"]", "[\"A\", \"a\"]"},
      {"{$setIntersection: [['a', 'b'], ['$s']]}", "[\"a\"]", "[]"},
      {"{$setDifference: [['a', 'b'], ['$s']]}", "[\"b\"]", "[\"a\", \"b\"]"},
      {"{$setEquals: [['a'], ['$s']]}", "true", "false"},
      {"{$setIsSubset: [['$s'], ['a', 'c']]}", "true", "false"},
      {"{$min: ['b', '$s', 'a']}", "\"A\"", "\"A\""},
      {"{$min: ['a', 'B']}", "\"a\"", "\"B\""},
      {"{$max: '$l'}", "\"C\"", "\"b\""},
      {"{$minN: {input: '$l', n: 2}}", "[\"a\", \"b\"]", "[\"C\", \"a\"]"},
      {"{$sortArray: {input: '$l', sortBy: 1}}", "[\"a\", \"b\", \"C\"]", "[\"C\", \"a\", \"b\"]"},
      {"{$sortArray: {input: [{x: 'b'}, {x: 'C'}], sortBy: {x: -1}}}", "[{\"x\": \"C\"}, {\"x\": \"b\"}]",
       "[{\"x\": \"b\"}, {\"x\": \"C\"}]"},
      {"{$indexOfBytes: ['ab', 'B']}", "-1", "-1"},
      {"{$regexMatch: {input: '$s', regex: 'a'}}", "false", "false"},
  };
  for (const auto& one : cases) {
    INFO(one.expression);
    CHECK(evaluate(one.expression, en) == one.collated);
    CHECK(evaluate(one.expression, simple) == one.as_bytes);
  }
}

TEST_CASE("accumulators that compare do so by the collation") {
  const bson::CollatorPtr by = bson::collator_of(bson::json(en));
  const auto result = [&](const char* name, const bson::Collator* collator) {
    const auto accumulator = make_accumulator(name, {.n = 2, .percentiles = {}, .collator = collator});
    for (const char* text : {"b", "C", "B", "a"}) accumulator->add(bson::Value(text));
    return bson::to_json(accumulator->result());
  };
  CHECK(result("$min", by.get()) == "\"a\"");
  CHECK(result("$min", nullptr) == "\"B\"");
  CHECK(result("$max", by.get()) == "\"C\"");
  CHECK(result("$max", nullptr) == "\"b\"");
  CHECK(result("$addToSet", by.get()) == "[\"b\", \"C\", \"a\"]");
  CHECK(result("$addToSet", nullptr) == "[\"b\", \"C\", \"B\", \"a\"]");
  CHECK(result("$maxN", by.get()) == "[\"C\", \"b\"]");
}

}  // namespace server::query
