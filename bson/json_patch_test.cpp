#include "bson/json_patch.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/testing.h"
#include "bson/test_generators.h"

namespace bson {
namespace {

Document array_of(const std::string& text) {
  return Document(value_from_json(text).or_throw().view().as_document());
}

// The operations as JSON, without the names of the array.
std::string patch_of(const std::string& before, const std::string& after) {
  const Document a = json(before), b = json(after);
  return to_json(ValueView(Type::array, json_patch_of(a.view(), b.view()).bytes()));
}

struct Applied {
  std::string document;  // or "none"
  std::string mismatch = "none";
  bool operator==(const Applied&) const = default;
};

Applied applied(const std::string& before, const std::string& operations) {
  const Document document = json(before), patch = array_of(operations);
  const auto outcome = JsonPatch(patch).apply(document.view());
  if (outcome.mismatch) return {"", *outcome.mismatch};
  return {outcome.document ? to_json(*outcome.document) : "none"};
}

base::ErrorCode refused(const std::string& before, const std::string& operations) {
  return base::testing::error_of([&] { applied(before, operations); });
}

TEST_CASE("a patch has the operations of what changed, each after a test of what it changes") {
  CHECK(patch_of("{a: 1}", "{a: 1}") == "[]");
  CHECK(patch_of("{a: 1, b: 2}", "{a: 3, c: 4}") ==
        R"([{"op": "test", "path": "/a", "value": 1}, {"op": "replace", "path": "/a", "value": 3}, )"
        R"({"op": "test", "path": "/b", "value": 2}, {"op": "remove", "path": "/b"}, {"op": "add", "path": "/c", "value": 4}])");
  CHECK(patch_of("{a: {'b/c~d': 1, '0': 2}}", "{a: {'b/c~d': 2, '0': 2}}") ==
        R"([{"op": "test", "path": "/a/b~1c~0d", "value": 1}, {"op": "replace", "path": "/a/b~1c~0d", "value": 2}])");
  CHECK(patch_of("{a: [1, 2, 3, 4]}", "{a: [1, 3, 4]}") ==
        R"([{"op": "test", "path": "/a/1", "value": 2}, {"op": "remove", "path": "/a/1"}])");
  CHECK(patch_of("{a: [1, 4]}", "{a: [1, 2, 3, 4]}") ==
        R"([{"op": "add", "path": "/a/1", "value": 2}, {"op": "add", "path": "/a/2", "value": 3}])");
  CHECK(patch_of("{a: [{b: 1}]}", "{a: [{b: 2}]}") ==
        R"([{"op": "test", "path": "/a/0/b", "value": 1}, {"op": "replace", "path": "/a/0/b", "value": 2}])");
}

TEST_CASE("where the order of fields changes the object is replaced") {
  CHECK(
      patch_of("{o: {a: 1, b: 2}}", "{o: {b: 2, a: 1}}") ==
      R"([{"op": "test", "path": "/o", "value": {"a": 1, "b": 2}}, {"op": "replace", "path": "/o", "value": {"b": 2, "a": 1}}])");
  CHECK(patch_of("{o: {a: 1}}", "{o: {b: 2, a: 1}}").find(R"("path": "/o")") != std::string::npos);
  CHECK(patch_of("{a: 1}", "{b: 2, a: 1}").find(R"("path": "")") != std::string::npos);
}

TEST_CASE("all operations of the RFC are there") {
  CHECK(applied("{a: {b: 1}}", "[{op: 'add', path: '/a/c', value: [1]}]") == Applied{R"({"a": {"b": 1, "c": [1]}})"});
  CHECK(applied("{a: [1, 2]}", "[{op: 'add', path: '/a/-', value: 3}, {op: 'add', path: '/a/0', value: 0}]") ==
        Applied{R"({"a": [0, 1, 2, 3]})"});
  CHECK(applied("{a: [1, 2]}", "[{op: 'remove', path: '/a/0'}]") == Applied{R"({"a": [2]})"});
  CHECK(applied("{a: {b: 1}, c: 2}", "[{op: 'move', from: '/a/b', path: '/d'}]") == Applied{R"({"a": {}, "c": 2, "d": 1})"});
  CHECK(applied("{a: {b: 1}}", "[{op: 'copy', from: '/a', path: '/c'}, {op: 'replace', path: '/c/b', value: 2}]") ==
        Applied{R"({"a": {"b": 1}, "c": {"b": 2}})"});
  CHECK(applied("{a: {'0': 1}}", "[{op: 'replace', path: '/a/0', value: 2}]") == Applied{R"({"a": {"0": 2}})"});
  CHECK(applied("{'': 1, 'x/y~': 2}", "[{op: 'remove', path: '/'}, {op: 'test', path: '/x~1y~0', value: 2}]") ==
        Applied{R"({"x/y~": 2})"});
  CHECK(applied("{a: 1}", "[{op: 'test', path: '', value: {a: 1}}, {op: 'remove', path: ''}]") == Applied{"none"});
}

TEST_CASE("an array whose elements have other names than their positions is replaced as a whole") {
  const auto named = [](const char* fields) {
    Builder out;
    out.append_array("a", json(fields));
    return out.done();
  };
  const Document plain = named("{'0': 1, '1': {b: 1}}"), odd = named("{'0': 1, x: {b: 2}}"), odder = named("{'0': 1, x: {b: 3}}");
  for (const auto& [from, to] : {std::pair(&plain, &odd), std::pair(&odd, &plain), std::pair(&odd, &odder)}) {
    const Document patch = json_patch_of(from->view(), to->view());
    CHECK(JsonPatch(patch).apply(from->view()).document->bytes() == to->bytes());
  }
}

TEST_CASE("an operation that doesn't fit is named by its path") {
  for (const std::string operations : {"[{op: 'test', path: '/a', value: 2}]", "[{op: 'test', path: '/a', value: NumberLong(1)}]",
                                       "[{op: 'test', path: '/a', value: 1.0}]", "[{op: 'add', path: '/a', value: 2}]",
                                       "[{op: 'copy', from: '/c', path: '/a'}]"}) {
    INFO(operations);
    CHECK(applied("{a: 1, b: [1]}", operations) == Applied{"", "/a"});
  }
  for (const std::string path : {"/b/1", "/b/01", "/b/x", "/b/-", "/c", "/c/d", "/a/x"}) {
    INFO(path);
    CHECK(applied("{a: 1, b: [1]}", "[{op: 'remove', path: '" + path + "'}]") == Applied{"", path});
  }
  CHECK(applied("{a: 1}", "[{op: 'add', path: '', value: {a: 2}}]") == Applied{"", ""});
  CHECK(applied("{a: 1}", "[{op: 'add', path: '/a', value: 1}]") == Applied{R"({"a": 1})"});
}

TEST_CASE("what is no patch is refused") {
  for (const std::string operations :
       {"[1]", "[{}]", "[{op: 'make', path: ''}]", "[{op: 'add', path: 'a', value: 1}]", "[{op: 'add', path: '/a'}]",
        "[{op: 'add', path: '/a~2', value: 1}]", "[{op: 'move', path: '/a'}]", "[{op: 'move', from: '/a', path: '/a/b'}]",
        "[{op: 'remove', path: 1}]"}) {
    INFO(operations);
    CHECK(refused("{a: {}}", operations) == base::ErrorCode::failed_to_parse);
  }
  CHECK(refused("{a: 1}", "[{op: 'replace', path: '', value: 1}]") == base::ErrorCode::bad_value);
}

TEST_CASE("a small patch can't make a large document, nor a deep one") {
  std::string doubles = "[";
  for (int i = 0; i < 40; ++i) doubles += "{op: 'copy', from: '/a', path: '/a/-'},";
  CHECK(refused("{a: [{b: 1}]}", doubles + "]") != base::ErrorCode::ok);
  std::string large = "[";
  for (int i = 0; i < 40; ++i) large += "{op: 'copy', from: '/a', path: '/b" + std::to_string(i) + "'},";
  CHECK(refused("{a: '" + std::string(1 << 20, 'x') + "'}", large + "]") == base::ErrorCode::bson_object_too_large);
}

TEST_CASE("a document that is taken apart has a bounded number of parts") {
  const auto zeros = [](int count) {
    std::string text = "{a: [";
    for (int i = 0; i < count; ++i) text += "0,";
    return text + "]}";
  };
  const std::string copy = "[{op: 'add', path: '/a/0', value: 1}, {op: 'copy', from: '/a', path: '/b'}]";
  CHECK(refused(zeros(300'000), copy) == base::ErrorCode::ok);
  CHECK(refused(zeros(600'000), copy) == base::ErrorCode::bad_value);
}

TEST_CASE("what takes too many operations is replaced as a whole") {
  Builder before, after;
  {
    auto old = before.array("a"), now = after.array("a");
    for (int i = 0; i < 60'000; ++i) old.append(i), now.append(-1 - i);
  }
  const Document from = before.done(), to = after.done();
  const Document patch = json_patch_of(from.view(), to.view());
  CHECK(patch.view().count() == 2);
  CHECK(JsonPatch(patch).apply(from.view()).document->bytes() == to.bytes());
}

// Writing the path once for each member would take many minutes.
TEST_CASE("members that stay have no path made, however long it is") {
  const std::string name(8 << 20, '/');
  const auto document = [&](int last) {
    Builder out;
    {
      auto object = out.object(name);
      for (int i = 0; i < 300'000; ++i) object.append("f" + std::to_string(i), i);
      object.append("last", last);
    }
    return out.done();
  };
  const Document before = document(1), after = document(2);
  const Document patch = json_patch_of(before.view(), after.view());
  CHECK(patch.view().count() == 2);
  CHECK(JsonPatch(patch).apply(before.view()).document->bytes() == after.bytes());
}

TEST_CASE("the making of a patch can be stopped anywhere, and says how much it does") {
  const std::string text(100'000, 't');
  const auto document = [&](int changed) {
    Builder out;
    {
      auto object = out.object("o");
      for (int i = 0; i < 1'000; ++i) object.append("f" + std::to_string(i), i == 7 ? changed : i);
      object.append("text", text);
    }
    {
      auto list = out.array("l");
      for (int i = 0; i < 1'000; ++i) list.append(i == 500 ? changed : i);
    }
    return out.done();
  };
  const Document before = document(1), after = document(2);
  size_t calls = 0, bytes = 0;
  const Document patch = json_patch_of(before.view(), after.view(), [&](size_t more) { ++calls, bytes += more; });
  CHECK(calls > 4 * 1'000);  // members and elements on both sides
  CHECK(bytes > text.size());
  CHECK(bytes < 10 * before.size());
  CHECK(patch.bytes() == json_patch_of(before.view(), after.view()).bytes());
  for (const size_t last : {size_t{0}, calls / 4, calls / 2, calls - 1}) {
    size_t left = last;
    const auto stop = [&](size_t) {
      if (left-- == 0) throw base::OperationError(base::ErrorCode::interrupted, "stopped");
    };
    CHECK(base::testing::error_of([&] { json_patch_of(before.view(), after.view(), stop); }) == base::ErrorCode::interrupted);
  }
}

TEST_CASE("what the maker of a patch keeps is counted, and may be refused") {
  const bool array = GENERATE(false, true);
  const auto make = [&](int first) {
    Builder out, inner;
    for (int i = 0; i < 20'000; ++i) inner.append(std::to_string(i), i == 0 ? first : i);
    if (array)
      out.append_array("a", inner.done());
    else
      out.append("a", inner.done());
    return out.done();
  };
  const Document before = make(-1), after = make(-2);
  size_t most = 0, last = 0;
  const auto count = [&](size_t bytes) { most = std::max(most, last = bytes); };
  const Document patch = json_patch_of(before.view(), after.view(), {}, count);
  CHECK(patch.bytes() == json_patch_of(before.view(), after.view()).bytes());
  CHECK(most > 40'000 * sizeof(ValueView));
  CHECK(last < 1000);  // a part of a step
  const auto stop = [&](size_t bytes) {
    if (bytes > last && bytes > most / 2) throw base::OperationError(base::ErrorCode::exceeded_memory_limit, "no room");
    last = bytes;
  };
  CHECK(base::testing::error_of([&] { json_patch_of(before.view(), after.view(), {}, stop); }) ==
        base::ErrorCode::exceeded_memory_limit);
  CHECK(last < 1000);  // a part of a step
}

TEST_CASE("the patch of two documents makes the second of the first, byte by byte") {
  const auto leads = [](const Document& before, const Document& after) {
    const Document patch = json_patch_of(before.view(), after.view());
    const auto outcome = JsonPatch(patch).apply(before.view());
    RC_ASSERT(outcome.document.has_value());
    RC_ASSERT(outcome.document->bytes() == after.bytes());
  };
  CHECK(rc::check("changed documents", [&] {
    const Document before = *arbitrary_document(4);
    leads(before, *changed_document(before));
  }));
  CHECK(rc::check("strangers", [&] { leads(*arbitrary_document(4), *arbitrary_document(4)); }));
}

}  // namespace
}  // namespace bson
