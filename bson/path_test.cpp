#include "bson/path.h"

#include <catch2/catch.hpp>

#include "bson/json.h"

namespace bson {
namespace {

std::string at(const char* document, const char* path) {
  const Document parsed = json(document);
  const ValueView value = value_at(parsed, path);
  return value.exists() ? to_json(value) : "missing";
}

// Returns the visited values; a star marks those after a fan-out.
std::string visited(const char* document, const char* path) {
  const Document parsed = json(document);
  std::string result;
  visit_path(parsed, path, [&](const ValueView& value, bool fanned) {
    if (!result.empty()) result += " ";
    result += value.exists() ? to_json(value) : "missing";
    if (fanned) result += "*";
    return true;
  });
  return result;
}

TEST_CASE("a path is split at its dots") {
  CHECK(split_path("a.b.0") == std::vector<std::string_view>{"a", "b", "0"});
  CHECK(split_path("a") == std::vector<std::string_view>{"a"});
  CHECK(split_path("a..b") == std::vector<std::string_view>{"a", "", "b"});
  CHECK(split_path("") == std::vector<std::string_view>{""});
}

TEST_CASE("array positions are plain decimal numbers") {
  CHECK(is_array_index("0"));
  CHECK(is_array_index("12"));
  for (const char* other : {"", "01", "-1", "a", "1a", "99999999999"}) CHECK_FALSE(is_array_index(other));
}

TEST_CASE("value_at goes through objects and positions and never fans out") {
  CHECK(at("{a: {b: 1}}", "a.b") == "1");
  CHECK(at("{a: [{b: 1}, {b: 2}]}", "a.1.b") == "2");
  CHECK(at("{a: [{b: 1}]}", "a.b") == "missing");
  CHECK(at("{a: [1]}", "a.1") == "missing");
  CHECK(at("{a: 1}", "a.b") == "missing");
  CHECK(at("{a: {'0': 5}}", "a.0") == "5");
}

TEST_CASE("visit_path sees what a query on the path looks at") {
  CHECK(visited("{a: 1}", "a") == "1");
  CHECK(visited("{a: [1, 2]}", "a") == "[1, 2]");
  CHECK(visited("{}", "a") == "missing");
  CHECK(visited("{}", "a.b") == "missing");
  CHECK(visited("{a: 5}", "a.b") == "missing");
  CHECK(visited("{a: [{b: 1}, {b: [2, 3]}]}", "a.b") == "1* [2, 3]*");
  CHECK(visited("{a: [{b: 1}, {c: 1}, 5]}", "a.b") == "1* missing*");
  CHECK(visited("{a: []}", "a.b") == "");
  CHECK(visited("{a: [[{b: 1}]]}", "a.b") == "");
  CHECK(visited("{a: [[{b: 1}]]}", "a.0.b") == "1*");
  CHECK(visited("{a: [{b: [{c: 1}, {c: 2}]}]}", "a.b.c") == "1* 2*");
}

TEST_CASE("a number in a path is a position and a name") {
  CHECK(visited("{a: [7, 8]}", "a.1") == "8*");
  CHECK(visited("{a: [{'0': 'name'}]}", "a.0") == R"("name"* {"0": "name"}*)");
  CHECK(visited("{a: [{b: 1}, {b: 2}]}", "a.1.b") == "missing* missing* 2*");
  CHECK(visited("{a: {'1': {b: 3}}}", "a.1.b") == "3");
}

TEST_CASE("a visitor may stop") {
  int calls = 0;
  const Document document = json("{a: [{b: 1}, {b: 2}]}");
  CHECK_FALSE(visit_path(document, "a.b", [&](const ValueView&, bool) { return ++calls < 1; }));
  CHECK(calls == 1);
}

}  // namespace
}  // namespace bson
