// Property test: one pass over a document's fields matches as the predicates do one by one.
#include "server/query/match/field_pass.h"

#include <catch2/catch.hpp>

#include "base/testing.h"
#include "bson/json.h"
#include "server/query/matcher.h"
#include "server/query/plan/access.h"
#include "server/query/random_queries.h"

namespace server::query::match {
namespace {

bool match_alone(const plan::Predicates& predicates, bson::DocumentView document) {
  return std::ranges::all_of(predicates, [&](const Node* node) { return node->matches(document, nullptr); });
}

}  // namespace

TEST_CASE("predicates match in one pass as they do alone") {
  Random random(base::testing::seed());
  int matched = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::string text = "{" + random_filter(random, 1) + "}";
    const bson::Document filter = bson::json(text);
    ParseContext context;
    context.expressions = expression_compiler();
    const auto matcher = Matcher::parse(filter, context);
    const auto predicates = plan::flatten(matcher->root());
    const FieldPass pass(predicates);
    for (int id = 0; id < 20; ++id) {
      const bson::Document document = bson::json(random_document(random, id));
      INFO(text << " " << bson::to_json(document));
      const bool matches = match_alone(predicates, document);
      REQUIRE(pass.matches(document) == matches);
      matched += matches ? 1 : 0;
    }
  }
  CHECK(matched > 100);
}

TEST_CASE("one pass takes the first field of a name, and knows missing ones and many") {
  bson::Builder doubles;
  doubles.append("a", 1).append("b", 2).append("a", 3);
  const bson::Document document = doubles.done();
  const auto matches = [&](const char* text) {
    const bson::Document filter = bson::json(text);
    const auto matcher = Matcher::parse(filter, ParseContext{});
    const auto predicates = plan::flatten(matcher->root());
    const bool matches = FieldPass(predicates).matches(document);
    CHECK(matches == match_alone(predicates, document));
    return matches;
  };
  CHECK(matches("{b: 2, a: 1}"));
  CHECK_FALSE(matches("{b: 2, a: 3}"));
  CHECK(matches("{c: null, a: 1, b: {$ne: 5}}"));
  CHECK(matches("{b: {$gte: 2, $lt: 3}, a: {$in: [0, 1]}, 'a.x': null, '': null}"));
  CHECK(matches("{b: 2, c1: null, c2: null, c3: null, c4: null, c5: null, c6: null, c7: null, c8: null, c9: null, a: 1}"));
  CHECK_FALSE(matches("{b: 2, c1: null, c2: null, c3: null, c4: null, c5: null, c6: null, c7: null, c8: null, c9: null, a: 2}"));
}

}  // namespace server::query::match
