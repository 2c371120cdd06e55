#include "bson/diff.h"

#include <catch2/catch.hpp>

#include "bson/test_generators.h"

namespace bson {
namespace {

std::string computed(const char* before, const char* after) {
  const auto result = diff::compute(json(before), json(after));
  return result ? to_json(result->view()) : "whole";
}

std::string applied(const char* before, const char* diff) {
  const auto result = diff::apply(json(before), json(diff));
  return result.ok() ? to_json(result.value().view()) : result.failure().message;
}

TEST_CASE("a diff leads from one document to the other, byte for byte") {
  CHECK(rc::check("changed documents", [] {
    const Document before = *arbitrary_document(4);
    const Document after = *changed_document(before);
    const auto diff = diff::compute(before, after);
    if (!diff) return;
    RC_ASSERT(diff->size() < after.size());
    RC_ASSERT(diff::apply(before, *diff).value().bytes() == after.bytes());
  }));
  CHECK(rc::check("strangers", [] {
    const Document before = *arbitrary_document(4), after = *arbitrary_document(4);
    const auto diff = diff::compute(before, after);
    if (diff) RC_ASSERT(diff::apply(before, *diff).value().bytes() == after.bytes());
  }));
}

TEST_CASE("a diff from elsewhere is applied or refused, never worse") {
  CHECK(rc::check("any document for a diff", [] {
    const Document before = *arbitrary_document(), other = *arbitrary_document();
    const auto diff = diff::compute(other, *changed_document(other));
    if (diff) RC_ASSERT(diff::apply(before, *diff).ok());
    (void)diff::apply(before, other);
  }));
}

TEST_CASE("a diff played twice arrives at the same document") {
  CHECK(rc::check("idempotent", [] {
    const Document before = *arbitrary_document(4);
    const Document after = *changed_document(before);
    const auto diff = diff::compute(before, after);
    if (diff) RC_ASSERT(diff::apply(after, *diff).value().bytes() == after.bytes());
  }));
}

TEST_CASE("diffs have MongoDB's form") {
  const char* filler = "'a long text that nobody changes, so that a diff is worth it'";
  const auto with = [&](const char* fields) { return std::string("{x: ") + filler + fields + "}"; };
  CHECK(computed(with(", a: 1, b: 2").c_str(), with(", a: 5, c: 3").c_str()) ==
        R"({"d": {"b": false}, "u": {"a": 5}, "i": {"c": 3}})");
  CHECK(computed(with(", a: 1, b: 2").c_str(), with(", b: 2, a: 1").c_str()) == R"({"i": {"a": 1}})");
  CHECK(computed(("{s: {y: 1, x: " + std::string(filler) + "}}").c_str(),
                 ("{s: {y: 2, x: " + std::string(filler) + "}}").c_str()) == R"({"ss": {"u": {"y": 2}}})");
  CHECK(computed(("{s: [1, 2, " + std::string(filler) + "]}").c_str(), ("{s: [1, 3, " + std::string(filler) + ", 4]}").c_str()) ==
        R"({"ss": {"a": true, "u1": 3, "u3": 4}})");
  CHECK(computed(("{s: [" + std::string(filler) + ", 1, 2]}").c_str(), ("{s: [" + std::string(filler) + "]}").c_str()) ==
        R"({"ss": {"a": true, "l": 1}})");
  CHECK(computed("{a: 1}", "{a: 2}") == "whole");
  CHECK(computed(with("").c_str(), with("").c_str()) == "{}");
}

TEST_CASE("a diff is applied leniently where the document moved on") {
  CHECK(applied("{a: 1}", "{u: {b: 2}}") == R"({"a": 1, "b": 2})");
  CHECK(applied("{a: 1}", "{sa: {u: {b: 2}}, sz: {d: {c: false}}}") == R"({"a": 1})");
  CHECK(applied("{a: [1]}", "{sa: {a: true, u3: 4}}") == R"({"a": [1, null, null, 4]})");
  CHECK(applied("{a: [1, 2, 3]}", "{sa: {a: true, l: 1}}") == R"({"a": [1]})");
  CHECK(applied("{a: 1, b: 2}", "{i: {a: 3}}") == R"({"b": 2, "a": 3})");
}

TEST_CASE("what is no diff is refused") {
  for (const char* bad : {"{x: 1}", "{u: 1}", "{x: {}}", "{u: {a: 1}, i: {a: 1}}", "{sa: {a: true, q: 1}}",
                          "{sa: {a: true, u-1: 1}}", "{sa: {a: true, l: 'x'}}", "{sa: {a: true, l: NumberLong('99999999999')}}",
                          "{sa: {a: true, s0: 1}}", "{a: true, u0: 1}", "{sa: 1}"}) {
    std::string text = bad;
    if (text.find("u-1") != text.npos) text = "{sa: {a: true, 'u-1': 1}}";
    INFO(text);
    CHECK_FALSE(diff::apply(json("{a: [1]}"), json(text)).ok());
  }
}

}  // namespace
}  // namespace bson
