#include "server/query/stages/transform.h"

#include <catch2/catch.hpp>

#include "base/testing.h"
#include "bson/json.h"

using namespace server::query;
using bson::json;

namespace {

const bson::Document sample = json("{_id: 1, a: 2, b: {c: 3, d: {e: 4}}, l: [{x: 1, y: 2}, 5, [{x: 6}]]}");

std::string projected(const std::string& specification) {
  Scope scope(0);
  const Transform transform = Transform::project("$project", json(specification), scope);
  Frame frame(scope, sample);
  return bson::to_json(transform.apply(sample, frame).view());
}

std::string added(const std::string& specification) {
  Scope scope(0);
  const Transform transform = Transform::add_fields("$addFields", json(specification), scope);
  Frame frame(scope, sample);
  return bson::to_json(transform.apply(sample, frame).view());
}

std::string text(const std::string& document) {
  return bson::to_json(json(document).view());
}

int refused(const std::string& specification) {
  return base::testing::code_of([&] { projected(specification); });
}

}  // namespace

TEST_CASE("A projection includes, through arrays too") {
  CHECK(projected("{a: 1}") == text("{_id: 1, a: 2}"));
  CHECK(projected("{a: 1, _id: 0}") == text("{a: 2}"));
  CHECK(projected("{'b.d.e': 1}") == text("{_id: 1, b: {d: {e: 4}}}"));
  CHECK(projected("{b: {c: 1}}") == text("{_id: 1, b: {c: 3}}"));
  CHECK(projected("{'l.x': 1}") == text("{_id: 1, l: [{x: 1}, [{x: 6}]]}"));
  CHECK(projected("{a: '$b.c', f: {$add: ['$a', 1]}}") == text("{_id: 1, a: 3, f: 3}"));
}

TEST_CASE("A projection excludes") {
  CHECK(projected("{a: 0, 'l.x': 0}") == text("{_id: 1, b: {c: 3, d: {e: 4}}, l: [{y: 2}, 5, [{}]]}"));
  CHECK(projected("{_id: 0}") == text("{a: 2, b: {c: 3, d: {e: 4}}, l: [{x: 1, y: 2}, 5, [{x: 6}]]}"));
}

TEST_CASE("Added fields keep their place or come last") {
  CHECK(added("{a: 9}") == text("{_id: 1, a: 9, b: {c: 3, d: {e: 4}}, l: [{x: 1, y: 2}, 5, [{x: 6}]]}"));
  CHECK(added("{'b.n': '$a', l: '$$REMOVE'}") == text("{_id: 1, a: 2, b: {c: 3, d: {e: 4}, n: 2}}"));
  CHECK(added("{'l.z': 0, l2: 1, b: 1}") == text("{_id: 1, a: 2, b: 1, l: [{x: 1, y: 2, z: 0}, {z: 0}, [{x: 6, z: 0}]], l2: 1}"));
}

TEST_CASE("A contradictory specification is refused") {
  CHECK(refused("{a: 1, b: 0}") == 31254);
  CHECK(refused("{a: 0, b: 1}") == 31253);
  CHECK(refused("{a: 1, 'a.b': 1}") == 31249);
  CHECK(refused("{'a.b': 1, a: 1}") == 31250);
  CHECK(refused("{a: 0, b: {$add: [1, 2]}}") == 31252);
  CHECK(refused("{a: 0, b: 'x'}") == 31310);
  CHECK(refused("{}") == 51272);
}
