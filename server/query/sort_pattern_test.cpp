#include "server/query/sort_pattern.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "bson/json.h"

namespace server::query {
namespace {

int order(const char* pattern, const char* a, const char* b) {
  const SortPattern sort = SortPattern::parse(bson::json(pattern));
  const int order = sort.key(bson::json(a)).compare(sort.key(bson::json(b)));
  return (order > 0) - (order < 0);
}

TEST_CASE("sort keys order documents by several fields") {
  CHECK(order("{a: 1}", "{a: 1}", "{a: 2}") < 0);
  CHECK(order("{a: -1}", "{a: 1}", "{a: 2}") > 0);
  CHECK(order("{a: 1, b: -1}", "{a: 1, b: 1}", "{a: 1, b: 2}") > 0);
  CHECK(order("{'a.b': 1}", "{a: {b: 1}}", "{a: {b: 2}}") < 0);
  CHECK(order("{a: 1}", "{a: 5}", "{a: 'x'}") < 0);
  CHECK(order("{a: 1}", "{a: 5}", "{a: {$numberDecimal: '5.0'}}") == 0);
}

TEST_CASE("missing sorts like null, and an empty array before both") {
  CHECK(order("{a: 1}", "{}", "{a: null}") == 0);
  CHECK(order("{a: 1}", "{a: []}", "{a: null}") < 0);
  CHECK(order("{a: -1}", "{a: []}", "{a: null}") > 0);
  CHECK(order("{'a.b': 1}", "{a: 5}", "{}") == 0);
}

TEST_CASE("an array's least element counts ascending, its greatest descending") {
  CHECK(order("{a: 1}", "{a: [3, 1]}", "{a: 2}") < 0);
  CHECK(order("{a: -1}", "{a: [3, 1]}", "{a: 2}") < 0);
  CHECK(order("{'a.b': 1}", "{a: [{b: 5}, {b: 0}]}", "{a: {b: 1}}") < 0);
  CHECK(order("{'a.b': 1, 'a.c': 1}", "{a: [{b: 1, c: 9}, {b: 2, c: 0}]}", "{a: {b: 1, c: 5}}") > 0);
  CHECK(order("{'a.0': 1}", "{a: [5, 1]}", "{a: [4, 9]}") > 0);
}

TEST_CASE("parallel arrays and bad specifications are refused") {
  const SortPattern both = SortPattern::parse(bson::json("{a: 1, b: 1}"));
  CHECK_THROWS_WITH(both.key(bson::json("{a: [1], b: [2]}")), "cannot sort with keys that are parallel arrays");
  CHECK_THROWS_WITH(SortPattern::parse(bson::json("{a: 2}")),
                    "$sort key ordering must be 1 (for ascending) or -1 (for descending)");
  CHECK_THROWS_WITH(SortPattern::parse(bson::json("{a: 'x'}")), "Illegal key in $sort specification: a: \"x\"");
  CHECK_THROWS_AS(SortPattern::parse(bson::json("{'': 1}")), base::OperationError);
  CHECK_THROWS_AS(SortPattern::parse(bson::json("{'a.': 1}")), base::OperationError);
}

}  // namespace
}  // namespace server::query
