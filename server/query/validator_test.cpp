#include "server/query/validator.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "bson/json.h"

namespace server::query {
namespace {

using bson::json;

ParseContext plain() {
  ParseContext context;
  context.expressions = expression_compiler();
  return context;
}

TEST_CASE("a document that breaks the rules gets a reason, whatever the rules are") {
  const std::vector<std::string> rules = {
      "{a: 1}",
      "{a: {$gt: 1, $lt: 5}}",
      "{a: {$not: {$gt: 1}}}",
      "{$or: [{a: {$exists: true}}, {b: {$type: 'string'}}]}",
      "{$nor: [{a: {$in: [1, 2]}}, {b: {$size: 1}}]}",
      "{$and: [{a: {$ne: 1}}, {b: {$elemMatch: {c: 1}}}]}",
      "{'a.b': {$regex: '^x'}}",
      "{a: /x/i}",
      "{a: {$mod: [2, 0]}, b: {$bitsAnySet: 3}}",
      "{$expr: {$gt: ['$a', '$b']}}",
      "{$jsonSchema: {required: ['a'], properties: {a: {type: 'string', minLength: 2}, b: {items: {minimum: 1}}}}}",
      "{$jsonSchema: {oneOf: [{required: ['a']}, {required: ['b']}], additionalProperties: {not: {type: 'array'}}}}",
      "{$alwaysFalse: 1}",
  };
  const std::vector<std::string> documents = {"{}",
                                              "{a: 1}",
                                              "{a: 'xy'}",
                                              "{a: [1, 2], b: [{c: 1}]}",
                                              "{a: {b: 'x'}, b: 'x'}",
                                              "{a: {b: [1, 'x']}, b: [0]}",
                                              "{a: null, b: 3}",
                                              "{a: 3, b: [1]}"};
  for (const std::string& rule : rules) {
    const auto matcher = Matcher::parse(json(rule), plain());
    for (const std::string& text : documents) {
      CAPTURE(rule, text);
      const bson::Document document = json(text);
      if (matcher->matches(document)) continue;
      const bson::Document details = explain_invalid(json(rule), document, plain());
      CHECK(details["operatorName"].is_string());
      for (const char* list : {"clausesNotSatisfied", "clausesSatisfied", "schemaRulesNotSatisfied"}) {
        if (const auto found = details[list]; found.is_array()) CHECK(!found.as_document().empty());
      }
    }
  }
}

TEST_CASE("rules are compiled once for a thread, unless they have expressions") {
  const bson::Document rules = json("{a: {$gt: 1}}"), same = json("{a: {$gt: 1}}"), other = json("{a: {$gt: 2}}");
  const auto first = compile_validator(rules, plain());
  CHECK(compile_validator(same, plain()) == first);
  CHECK(compile_validator(other, plain()) != first);
  for (int i = 0; i < 100; ++i) compile_validator(json("{a: " + std::to_string(i) + "}"), plain());
  CHECK(compile_validator(rules, plain()) != first);  // the thread has forgotten it
  const bson::Document expression = json("{$expr: {$gt: ['$a', 1]}}");
  CHECK(compile_validator(expression, plain()) != compile_validator(expression, plain()));
}

TEST_CASE("schemas are only so deep") {
  std::string deep = "{}";
  for (int i = 0; i < 101; ++i) deep = "{not: " + deep + "}";
  try {
    check_validator(json("{$jsonSchema: " + deep + "}"), plain());
    FAIL("it was taken");
  } catch (const base::OperationError& error) {
    CHECK(error.code() == base::ErrorCode::bad_value);
  }
}

TEST_CASE("options say whether anything is asked") {
  CHECK(!read_validation(json("{}")));
  CHECK(!read_validation(json("{validator: {}}")));
  CHECK(!read_validation(json("{validator: {a: 1}, validationLevel: 'off'}")));
  CHECK(read_validation(json("{validator: {a: 1}, validationLevel: 'moderate'}"))->moderate);
  CHECK(read_validation(json("{validator: {a: 1}, validationAction: 'warn'}"))->only_warns);
  CHECK(!read_validation(json("{validator: {a: 1}}"))->only_warns);
}

}  // namespace
}  // namespace server::query
