#include "bson/builder.h"

#include <catch2/catch.hpp>

#include "bson/test_generators.h"

namespace bson {
namespace {

TEST_CASE("a document reads back what was built") {
  Builder builder;
  builder.append("n", 3).append("big", int64_t{1} << 40).append("x", 1.5).append("s", "text").append("t", true).append_null("z");
  {
    Builder inner = builder.object("o");
    inner.append("a", Date{5});
    ArrayBuilder array = inner.array("l");
    array.append(1).append(std::string_view("two")).append_null();
  }
  builder.append("ts", Timestamp{7, 2}).append("re", Regex{"a.b", "i"}).append("bin", Binary{4, "xyz"});
  const Document document = builder.done();
  CHECK(to_json(document.view()) ==
        R"({"n": 3, "big": 1099511627776, "x": 1.5, "s": "text", "t": true, "z": null, )"
        R"("o": {"a": {"$date": "1970-01-01T00:00:00.005Z"}, "l": [1, "two", null]}, "ts": {"$timestamp": {"t": 7, "i": 2}}, )"
        R"("re": {"$regularExpression": {"pattern": "a.b", "options": "i"}}, "bin": {"$binary": {"base64": "eHl6", )"
        R"("subType": "04"}}})");
  CHECK(document["o"].as_document()["l"].as_document().count() == 3);
  CHECK(document["ts"].as_timestamp() == Timestamp{7, 2});
  CHECK(document["re"].as_regex().options == "i");
  CHECK_FALSE(document.has("missing"));
}

TEST_CASE("copying a document element by element copies its bytes") {
  CHECK(rc::check("any document", [] {
    const Document document = *arbitrary_document();
    Builder copy, whole;
    for (const Element& field : document) copy.append_element(field);
    whole.append_all(document.view());
    RC_ASSERT(copy.done().bytes() == document.bytes());
    RC_ASSERT(whole.done().bytes() == document.bytes());
  }));
}

TEST_CASE("fields are found by their whole name, the first of it") {
  const Document document = json("{ab: 1, a: 2, b: 3, a: 4}");
  CHECK(document["a"].as_int32() == 2);
  CHECK_FALSE(document["abc"].exists());
  CHECK_FALSE(document[""].exists());
  CHECK(document.view().first().name == "ab");
}

TEST_CASE("a builder moved while open keeps writing to the same place") {
  Builder first;
  first.append("a", 1);
  Builder second = std::move(first);
  second.append("b", 2);
  CHECK(to_json(second.done().view()) == R"({"a": 1, "b": 2})");
}

TEST_CASE("an empty document is five bytes") {
  CHECK(Document().bytes() == Builder().done().bytes());
  CHECK(DocumentView().size() == 5);
  CHECK(DocumentView().begin() == DocumentView().end());
}

TEST_CASE("object ids are unique and count up") {
  const ObjectId a = ObjectId::generate(), b = ObjectId::generate();
  CHECK(a != b);
  CHECK(a.to_hex().size() == 24);
}

}  // namespace
}  // namespace bson
