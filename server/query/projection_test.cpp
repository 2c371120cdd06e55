#include "server/query/projection.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/testing.h"
#include "bson/json.h"

namespace server::query {
namespace {

std::string project(const char* projection, const char* document, const char* filter = "{}") {
  const auto matcher = Matcher::parse(bson::json(filter));
  return bson::to_json(Projection::parse(bson::json(projection), matcher.get())->apply(bson::json(document)));
}

std::string json(const char* text) {
  return bson::to_json(bson::json(text));
}

TEST_CASE("an inclusion keeps the named fields, in the document's order") {
  CHECK(project("{b: 1, a: 1}", "{_id: 1, a: 2, b: 3, c: 4}") == json("{_id: 1, a: 2, b: 3}"));
  CHECK(project("{a: 1, _id: 0}", "{_id: 1, a: 2, b: 3}") == json("{a: 2}"));
  CHECK(project("{_id: 1}", "{_id: 1, a: 2}") == json("{_id: 1}"));
  CHECK(project("{'a.b': 1}", "{_id: 1, a: {b: 2, c: 3}}") == json("{_id: 1, a: {b: 2}}"));
  CHECK(project("{a: {b: 1}}", "{_id: 1, a: {b: 2, c: 3}}") == json("{_id: 1, a: {b: 2}}"));
  CHECK(project("{'a.b': 1}", "{_id: 1, a: [{b: 2, c: 3}, 5, [{b: 4}]]}") == json("{_id: 1, a: [{b: 2}, [{b: 4}]]}"));
  CHECK(project("{'a.b': 1}", "{_id: 1, a: 5}") == json("{_id: 1}"));
}

TEST_CASE("an exclusion keeps all the others") {
  CHECK(project("{a: 0}", "{_id: 1, a: 2, b: 3}") == json("{_id: 1, b: 3}"));
  CHECK(project("{_id: 0}", "{_id: 1, a: 2}") == json("{a: 2}"));
  CHECK(project("{'a.b': false}", "{_id: 1, a: [{b: 2, c: 3}, 5]}") == json("{_id: 1, a: [{c: 3}, 5]}"));
  CHECK(project("{}", "{_id: 1, a: 2}") == json("{_id: 1, a: 2}"));
}

TEST_CASE("$slice cuts arrays from either end") {
  CHECK(project("{a: {$slice: 2}}", "{_id: 1, a: [1, 2, 3], b: 4}") == json("{_id: 1, a: [1, 2], b: 4}"));
  CHECK(project("{a: {$slice: -2}}", "{a: [1, 2, 3]}") == json("{a: [2, 3]}"));
  CHECK(project("{a: {$slice: [1, 1]}}", "{a: [1, 2, 3]}") == json("{a: [2]}"));
  CHECK(project("{a: {$slice: [-2, 1]}}", "{a: [1, 2, 3]}") == json("{a: [2]}"));
  CHECK(project("{a: {$slice: 0}}", "{a: [1]}") == json("{a: []}"));
  CHECK(project("{a: {$slice: 9}}", "{a: [1]}") == json("{a: [1]}"));
  CHECK(project("{a: {$slice: 1}, b: 1}", "{_id: 1, a: [1, 2], b: 2, c: 3}") == json("{_id: 1, a: [1], b: 2}"));
  CHECK(project("{_id: 1, a: {$slice: 1}}", "{_id: 1, a: [1, 2], b: 2}") == json("{_id: 1, a: [1]}"));
}

TEST_CASE("$elemMatch keeps the first element that matches") {
  CHECK(project("{a: {$elemMatch: {b: 2}}}", "{_id: 1, a: [{b: 1}, {b: 2, c: 1}, {b: 2}], d: 1}") ==
        json("{_id: 1, a: [{b: 2, c: 1}]}"));
  CHECK(project("{a: {$elemMatch: {$gt: 1}}}", "{_id: 1, a: [1, 2, 3]}") == json("{_id: 1, a: [2]}"));
  CHECK(project("{a: {$elemMatch: {b: 9}}}", "{_id: 1, a: [{b: 1}]}") == json("{_id: 1}"));
}

TEST_CASE("the positional operator keeps the element the filter matched") {
  CHECK(project("{'a.$': 1}", "{_id: 1, a: [5, 7, 9]}", "{a: {$gt: 6}}") == json("{_id: 1, a: [7]}"));
  CHECK(project("{'a.$': 1}", "{_id: 1, a: [{b: 1}, {b: 2, c: 3}]}", "{'a.b': 2}") == json("{_id: 1, a: [{b: 2, c: 3}]}"));
  CHECK(project("{'a.b.$': 1}", "{_id: 1, a: {b: [5, 7], c: 1}}", "{'a.b': 7}") == json("{_id: 1, a: {b: [7]}}"));
  CHECK(project("{'a.b.$': 1}", "{_id: 1, a: [{b: 5}, {b: 7, c: 1}]}", "{'a.b': 7}") == json("{_id: 1, a: [{b: 7}]}"));
  CHECK(project("{'a.$': 1}", "{_id: 1, a: [[1], [2, 3]]}", "{a: [2, 3]}") == json("{_id: 1, a: [[2, 3]]}"));
}

TEST_CASE("the positional operator leaves what isn't an array as it is") {
  CHECK(project("{'a.$': 1}", "{_id: 1, a: 43}", "{a: {$gt: 42}}") == json("{_id: 1, a: 43}"));
  CHECK(project("{'a.$': 1}", "{_id: 1, a: {b: 1, c: 2}}", "{'a.b': 1}") == json("{_id: 1, a: {b: 1, c: 2}}"));
  CHECK(project("{'a.$': 1, c: 1}", "{_id: 1, b: 2, c: 3}", "{b: 2}") == json("{_id: 1, c: 3}"));
  CHECK(project("{'a.b.$': 1}", "{_id: 1, a: {b: 5, c: 1}}", "{'a.b': 5}") == json("{_id: 1, a: {b: 5}}"));
  CHECK(project("{'a.b.$': 1}", "{_id: 1, a: 5}", "{a: 5}") == json("{_id: 1}"));
  CHECK(project("{'a.$': 1}", "{_id: 1, a: null}", "{a: null}") == json("{_id: 1, a: null}"));
}

int project_error(const char* projection, const char* document, const char* filter) {
  return base::testing::code_of([&] { project(projection, document, filter); });
}

TEST_CASE("an array that the filter went through no element of has no position") {
  CHECK(project_error("{'a.$': 1}", "{_id: 1, a: [1, 2], b: 3}", "{b: 3}") == 51246);
  CHECK(project_error("{'a.$': 1}", "{_id: 1, a: [], b: 3}", "{b: 3}") == 51246);
  CHECK(project_error("{'a.$': 1}", "{_id: 1, a: [1, 2]}", "{a: [1, 2]}") == 51246);
  CHECK(project_error("{'a.$': 1}", "{_id: 1, a: [1, 2]}", "{a: {$size: 2}}") == 51246);
  CHECK(project_error("{'a.b.$': 1}", "{_id: 1, a: [{b: 1}], c: 3}", "{c: 3}") == 51246);
  CHECK(project_error("{'a.b.$': 1}", "{_id: 1, a: {b: [1]}, c: 3}", "{c: 3}") == 51246);
  CHECK(project_error("{'a.$': 1}", "{_id: 1, a: [1], b: [1, 2]}", "{b: 2}") == 51247);
}

TEST_CASE("literals become fields") {
  CHECK(project("{a: 1, b: 'x'}", "{_id: 1, a: 2, b: 3}") == json("{_id: 1, a: 2, b: 'x'}"));
}

TEST_CASE("a bad projection is refused in MongoDB's words") {
  struct Bad {
    const char* projection;
    int32_t code;
    const char* message;
  };
  for (const Bad& one : {
           Bad{"{a: 1, b: 0}", 31254, "Cannot do exclusion on field b in inclusion projection"},
           Bad{"{a: 0, b: 1}", 31253, "Cannot do inclusion on field b in exclusion projection"},
           Bad{"{a: 1, 'a.b': 1}", 31249, "Path collision at a.b remaining portion b"},
           Bad{"{'a.b': 1, a: 1}", 31250, "Path collision at a"},
           Bad{"{'a.$': 0}", 31395, "positional projection cannot be used with exclusion"},
           Bad{"{'a.$.b': 1}", 31394,
               "As of 4.4, it's illegal to specify positional operator in the middle of a path.Positional projection may "
               "only be used at the end, for example: a.b.$. If the query previously used a form like a.b.$.d, remove the "
               "parts following the '$' and the results will be equivalent."},
           Bad{"{a: {}}", 51270, "An empty sub-projection is not a valid value. Found empty object at path"},
           Bad{"{'': 1}", 40352, "FieldPath cannot be constructed with empty string"},
           Bad{"{'a.': 1}", 40353, "FieldPath must not end with a '.'."},
           Bad{"{a: {$elemMatch: 1}}", 31274, "elemMatch: Invalid argument, object required, but got int"},
       }) {
    INFO(one.projection);
    try {
      project(one.projection, "{a: [1]}", "{a: 1}");
      FAIL_CHECK("was not refused");
    } catch (const base::OperationError& error) {
      CHECK(static_cast<int32_t>(error.code()) == one.code);
      CHECK(std::string(error.what()) == one.message);
    }
  }
}

}  // namespace
}  // namespace server::query
