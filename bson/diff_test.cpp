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
  CHECK(computed("{a: 1}", "{a: 2}") == R"({"u": {"a": 2}})");
  CHECK(computed("{a: 1, a: 2}", "{a: 2}") == "whole");
  CHECK(computed(with("").c_str(), with("").c_str()) == "{}");
}

TEST_CASE("a diff goes down everywhere but where it is told not to") {
  const auto told = [](const char* before, const char* after, const diff::WholePaths& whole) {
    return to_json(diff::compute(json(before), json(after), &whole)->view());
  };
  CHECK(told("{a: {b: 1}}", "{a: {b: 2}}", {}) == R"({"sa": {"u": {"b": 2}}})");
  CHECK(told("{a: {b: 1}}", "{a: {b: 2}}", {"a"}) == R"({"u": {"a": {"b": 2}}})");
  CHECK(told("{l: []}", "{l: [1]}", {}) == R"({"sl": {"a": true, "u0": 1}})");
  CHECK(told("{l: [{x: {y: 1}}, 5]}", "{l: [{x: {y: 2}}, 6]}", {"l.0.x"}) ==
        R"({"sl": {"a": true, "s0": {"u": {"x": {"y": 2}}}, "u1": 6}})");
  CHECK(told("{}", "{a: {b: 1}}", {}) == R"({"i": {"a": {"b": 1}}})");
  CHECK(rc::check("any paths", [] {
    const Document before = *arbitrary_document(4);
    const Document after = *changed_document(before);
    diff::WholePaths whole;
    for (const Element& field : after.view()) {
      if (*rc::gen::arbitrary<bool>()) whole.emplace(field.name);
    }
    const auto diff = diff::compute(before, after, &whole);
    if (diff) RC_ASSERT(diff::apply(before, *diff).value().bytes() == after.bytes());
  }));
}

// Comparing what the paths have in common, once for each element, would take minutes.
TEST_CASE("long paths to many elements are not compared for each of them") {
  const std::string name(7 << 20, 'n');
  constexpr int count = 300'000;
  const auto document = [&](int last) {
    Builder out;
    {
      auto list = out.array(name);
      for (int i = 0; i + 1 < count; ++i) list.object().append("a", last);
      list.object().object("a").append("b", last);
    }
    return out.done();
  };
  const Document before = document(1), after = document(2);
  const std::string at = std::to_string(count - 1);
  const auto changed_last = [&](const diff::WholePaths& whole) {
    const auto all = diff::compute(before, after, &whole);
    return to_json((*all)["s" + name].as_document()["s" + at]);
  };
  CHECK(changed_last({name + "." + at + ".a", name + ".0"}) == R"({"u": {"a": {"b": 2}}})");
  CHECK(changed_last({name + "." + at + ".b", name + ".0"}) == R"({"sa": {"u": {"b": 2}}})");
}

TEST_CASE("a diff is applied leniently where the document moved on") {
  CHECK(applied("{a: 1}", "{u: {b: 2}}") == R"({"a": 1, "b": 2})");
  CHECK(applied("{a: 1}", "{sa: {u: {b: 2}}, sz: {d: {c: false}}}") == R"({"a": 1})");
  CHECK(applied("{a: [1]}", "{sa: {a: true, u3: 4}}") == R"({"a": [1, null, null, 4]})");
  CHECK(applied("{a: [1, 2, 3]}", "{sa: {a: true, l: 1}}") == R"({"a": [1]})");
  CHECK(applied("{a: 1, b: 2}", "{i: {a: 3}}") == R"({"b": 2, "a": 3})");
}

TEST_CASE("an outline and the document give the diff again") {
  CHECK(rc::check("changed documents", [] {
    const Document before = *arbitrary_document(4);
    const Document after = *changed_document(before);
    const auto diff = diff::compute(before, after);
    if (!diff) return;
    const Document outline = diff::outline(*diff);
    RC_ASSERT(diff::filled(outline, after).value().bytes() == diff->bytes());
    RC_ASSERT(diff::filled_bytes(outline, after) == diff->size());
  }));
  const auto diff = json("{d: {x: false}, u: {a: 'long'}, i: {n: {m: 1}}, sl: {a: true, l: 3, u1: 'long', s2: {u: {q: 1}}}}");
  CHECK(to_json(diff::outline(diff)) == R"({"d": {"x": false}, "u": {"a": null}, "i": {"n": null}, )"
                                        R"("sl": {"a": true, "l": 3, "u1": null, "s2": {"u": {"q": null}}}})");
}

TEST_CASE("an outline that isn't the document's is refused") {
  CHECK(rc::check("any document for an outline", [] {
    const Document after = *arbitrary_document(), other = *arbitrary_document();
    (void)diff::filled(other, after);
  }));
  for (const char* bad : {"{u: {b: null}}", "{u: 1}", "{sa: {u: {x: null}}}", "{sb: {}}", "{sa: {a: true, u5: null}}"}) {
    INFO(bad);
    CHECK_FALSE(diff::filled(json(bad), json("{a: [1]}")).ok());
  }
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
