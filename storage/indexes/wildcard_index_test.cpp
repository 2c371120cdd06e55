#include "storage/indexes/wildcard_index.h"

#include <catch2/catch.hpp>

#include "base/testing.h"
#include "bson/json.h"
#include "storage/indexes/multikey_paths.h"

using namespace storage;
using bson::json;

namespace {

IndexSpec spec(const std::string& options) {
  return parse_index_spec(json("{name: 'w', " + options + "}"));
}

// Returns the keys as values, in their order.
std::string keys(const std::string& options, const std::string& document) {
  const IndexSpec index = spec(options);
  const auto parsed = json(document);
  IndexKeys found;
  index_keys(index, parsed, found);
  std::string text;
  for (const Bytes& one : found.keys) {
    if (!text.empty()) text += " ";
    text += bson::to_shell(index_key_values(index, parsed, one));
  }
  return text;
}

// Returns the paths of arrays, with spaces between them.
std::string arrays(const std::string& options, const std::string& document) {
  const IndexSpec index = spec(options);
  IndexKeys found;
  index_keys(index, json(document), found);
  CHECK((found.multikey_fields != 0) == !found.multikey_paths.empty());
  std::string text;
  for (const std::string& path : found.multikey_paths) text += (text.empty() ? "" : " ") + path;
  return text;
}

int refusal(const std::string& options, const std::string& document = "{}") {
  return base::testing::code_of([&] { keys(options, document); });
}

constexpr const char* whole = "key: {'$**': 1}";

}  // namespace

TEST_CASE("a wildcard index has an entry for each value, with its path") {
  CHECK(keys(whole, "{_id: 1, a: 5}") == "{ $_path: \"a\", a: 5 }");
  CHECK(keys(whole, "{a: {b: 1, c: 'x'}}") == "{ $_path: \"a.b\", a.b: 1 } { $_path: \"a.c\", a.c: \"x\" }");
  CHECK(keys(whole, "{a: null}") == "{ $_path: \"a\", a: null }");
  CHECK(keys(whole, "{_id: {a: 1}}").empty());
  CHECK(keys(whole, "{}").empty());
}

TEST_CASE("elements of arrays have the array's path, arrays within them are values") {
  CHECK(keys(whole, "{a: [1, 2]}") == "{ $_path: \"a\", a: 1 } { $_path: \"a\", a: 2 }");
  CHECK(keys(whole, "{a: [{b: 1}, {b: [2, 3]}]}") ==
        "{ $_path: \"a.b\", a.b: 1 } { $_path: \"a.b\", a.b: 2 } { $_path: \"a.b\", a.b: 3 }");
  CHECK(keys(whole, "{a: [[1, [2]]]}") == "{ $_path: \"a\", a: [ 1, [ 2 ] ] }");
  CHECK(keys(whole, "{a: []}") == "{ $_path: \"a\", a: undefined }");
  CHECK(keys(whole, "{a: [[], 1, 1]}") == "{ $_path: \"a\", a: 1 } { $_path: \"a\", a: [] }");
  CHECK(arrays(whole, "{a: [{b: []}, [[]]], c: {d: [1]}, e: 1}") == "a a.b c.d");
  CHECK(arrays(whole, "{a: {b: 1}}").empty());
}

TEST_CASE("an object without entries of its own has the entry {}") {
  CHECK(keys(whole, "{a: {}}") == "{ $_path: \"a\", a: {} }");
  CHECK(keys(whole, "{a: [{}, {b: 1}]}") == "{ $_path: \"a\", a: {} } { $_path: \"a.b\", a.b: 1 }");
  CHECK(keys(whole, "{a: {'b.c': 1}}") == "{ $_path: \"a\", a: {} }");
  CHECK(keys("key: {'$**': 1}, wildcardProjection: {'a.b': 0}", "{a: {b: 1}}") == "{ $_path: \"a\", a: {} }");
  CHECK(keys("key: {'a.b.$**': 1}", "{a: {}}").empty());
}

TEST_CASE("an index of a path has what lies on it and below") {
  CHECK(keys("key: {'a.b.$**': 1}", "{a: {b: {c: 1}, bc: 2}, d: 3}") == "{ $_path: \"a.b.c\", a.b.c: 1 }");
  CHECK(keys("key: {'a.b.$**': 1}", "{a: [{b: 1}, {c: 2}, 3]}") == "{ $_path: \"a.b\", a.b: 1 }");
  CHECK(keys("key: {'a.b.$**': 1}", "{a: 5}").empty());
  CHECK(arrays("key: {'a.b.$**': 1}", "{a: [1], c: [1]}") == "a");
  // {"a.0.b": …} finds something in here.
  CHECK(keys("key: {'a.b.$**': 1}", "{a: [[{b: 1}]]}") == "{ $_path: \"a\", a: [ { b: 1 } ] }");
}

TEST_CASE("a projection says which paths an index has") {
  const char* document = "{_id: 1, a: {b: 1, c: 2}, d: 3}";
  const auto with = [&](const std::string& projection) {
    return keys("key: {'$**': 1}, wildcardProjection: " + projection, document);
  };
  const std::string id = "{ $_path: \"_id\", _id: 1 }", b = "{ $_path: \"a.b\", a.b: 1 }", c = "{ $_path: \"a.c\", a.c: 2 }",
                    d = "{ $_path: \"d\", d: 3 }";
  CHECK(with("{a: 1}") == b + " " + c);
  CHECK(with("{'a.b': 1}") == b);
  CHECK(with("{a: {b: true}}") == b);
  CHECK(with("{_id: 1, d: 1}") == id + " " + d);
  CHECK(with("{_id: 0, d: 1}") == d);
  CHECK(with("{_id: 1}") == id);
  CHECK(with("{_id: 0}") == b + " " + c + " " + d);
  CHECK(with("{a: 0}") == d);
  CHECK(with("{'a.b': 0}") == c + " " + d);
  CHECK(with("{_id: 1, a: 0}") == id + " " + d);
  CHECK(with("{_id: 0, a: 0}") == d);
}

TEST_CASE("a compound index has the other fields around each value, and every document") {
  const char* both = "key: {x: 1, 'a.$**': -1, y: 1}";
  CHECK(keys(both, "{x: 1, y: 2, a: {b: 5, c: 6}}") ==
        "{ x: 1, $_path: \"a.b\", a.b: 5, y: 2 } { x: 1, $_path: \"a.c\", a.c: 6, y: 2 }");
  CHECK(keys(both, "{a: [2, 3]}") == "{ x: null, $_path: \"a\", a: 3, y: null } { x: null, $_path: \"a\", a: 2, y: null }");
  CHECK(keys(both, "{x: 7}") == "{ x: 7, $_path: MinKey, y: null }");
  CHECK(refusal(both, "{x: [1]}") == 7246301);
  CHECK(refusal(both, "{y: []}") == 7246301);
  CHECK(refusal("key: {'x.0': 1, 'a.$**': 1}", "{x: [1]}") == 7246301);
}

TEST_CASE("strings are compared by the collation, paths aren't") {
  const IndexSpec index = spec("key: {'$**': 1}, collation: {locale: 'en', strength: 2}");
  IndexKeys upper, lower, other;
  index_keys(index, json("{a: 'X'}"), upper);
  index_keys(index, json("{a: 'x'}"), lower);
  index_keys(index, json("{A: 'x'}"), other);
  CHECK(upper.keys == lower.keys);
  CHECK(upper.keys != other.keys);
}

TEST_CASE("specifications of wildcard indexes are checked as MongoDB checks them") {
  CHECK(refusal("key: {'$**': 1}") == 0);
  CHECK(refusal("key: {'$**': -1}, collation: {locale: 'fr'}") == 0);
  CHECK(refusal("key: {'$**': 1}, partialFilterExpression: {a: 1}, hidden: true") == 0);
  CHECK(refusal("key: {'$**': 0}") == 67);
  CHECK(refusal("key: {'$**': 1}, unique: true") == 67);
  CHECK(refusal("key: {'$**': 1}, sparse: true") == 67);
  CHECK(refusal("key: {'$**': 1}, prepareUnique: true") == 67);
  CHECK(refusal("key: {'$**': 1}, expireAfterSeconds: 5") == 67);
  CHECK(refusal("key: {'$**': 1}, v: 1") == 67);
  CHECK(refusal("key: {'a.$**.$**': 1}") == 67);
  CHECK(refusal("key: {'$**.$**': 1}") == 67);
  CHECK(refusal("key: {'.$**': 1}") == 67);
  CHECK(refusal("key: {'$**.a': 1}") == 67);
  CHECK(refusal("key: {'$**': 'hashed'}") == 67);
  CHECK(refusal("key: {'$**': '2dsphere'}") == 67);
  CHECK(refusal("key: {'$**': 'wildcard'}") == 67);
  CHECK(refusal("key: {a: 'wildcard'}") == 67);
  CHECK(refusal("key: {'a.$**': 'text'}") == 67);
  CHECK(refusal("key: {'a.$**': 1, b: 'text'}") == 67);
  CHECK(refusal("key: {'a.$**': 1, b: 'hashed'}") == 67);
  CHECK(refusal("key: {'a.$**': 1, b: '2dsphere'}") == 67);
  CHECK(refusal("key: {'a.$**': 1, 'b.$**': 1}") == 7246201);
  CHECK(refusal("key: {a: 1, 'a.$**': 1}") == 7246204);
  CHECK(refusal("key: {'a.b.c': 1, 'a.b.$**': 1}") == 7246204);
  CHECK(refusal("key: {'a.bc': 1, 'a.b.$**': 1}") == 0);
  CHECK(refusal("key: {a: 1, '$**': 1}") == 67);
  CHECK(refusal("key: {'a.$**': 1}, wildcardProjection: 'x'") == 14);
  CHECK(refusal("key: {'a.$**': 1}, wildcardProjection: {b: 1}") == 9);
  CHECK(refusal("key: {'$**': 1}, wildcardProjection: {}") == 9);
  CHECK(refusal("key: {'$**': 'text'}, wildcardProjection: {a: 1}") == 2);
}

TEST_CASE("wildcard projections are checked as MongoDB checks them") {
  const auto single = [](const std::string& projection) { return refusal("key: {'$**': 1}, wildcardProjection: " + projection); };
  CHECK(single("{a: 1, b: 0}") == 31254);
  CHECK(single("{a: 0, b: 1}") == 31253);
  CHECK(single("{a: 1, b: 'x'}") == 51271);
  CHECK(single("{a: 1, b: {$add: [1, 2]}}") == 51271);
  CHECK(single("{a: {}}") == 51271);
  CHECK(single("{a: 1, 'a.b': 1}") == 31249);
  CHECK(single("{'': 1}") == 40352);
  CHECK(single("{'a.': 1}") == 40353);
  CHECK(single("{'a..b': 1}") == 15998);
  CHECK(single("{$a: 1}") == 16410);
  const auto compound = [](const std::string& key, const std::string& projection) {
    return refusal("key: " + key + ", wildcardProjection: " + projection);
  };
  CHECK(compound("{a: 1, '$**': 1}", "{a: 0}") == 0);
  CHECK(compound("{a: 1, '$**': -1, b: 1}", "{a: 0, b: 0}") == 0);
  CHECK(compound("{'$**': 1, o: 1}", "{_id: 0, a: 1}") == 0);
  CHECK(compound("{'$**': 1, o: 1}", "{_id: 1, a: 0, o: 0}") == 0);
  CHECK(compound("{'$**': 1, o: 1}", "{_id: 1}") == 0);
  CHECK(compound("{'$**': 1, c: 1}", "{'a.b': 1, 'a.b.c': 1}") == 7246200);
  CHECK(compound("{a: 1, '$**': 1}", "{a: 1, b: 1}") == 7246208);
  CHECK(compound("{_id: 1, '$**': 1}", "{_id: 1}") == 7246208);
  CHECK(compound("{_id: 1, '$**': 1}", "{_id: 1, a: 1}") == 7246208);
  CHECK(compound("{'$**': 1, c: 1}", "{_id: 0, a: 0, b: 1}") == 7246211);
  CHECK(compound("{'$**': 1, _id: 1, e: 1}", "{_id: 1, e: 0}") == 7246209);
  CHECK(compound("{'$**': 1, _id: 1, e: 1}", "{_id: 0, a: 1}") == 0);
  CHECK(compound("{a: 1, '$**': 1}", "{_id: 0}") == 7246210);
  CHECK(compound("{_id: 1, '$**': 1}", "{_id: 0}") == 0);
  CHECK(compound("{_id: 1, '$**': 1, a: 1}", "{_id: 0}") == 7246210);
  CHECK(compound("{a: 1, _id: 1, '$**': 1}", "{a: 0}") == 7246209);
  CHECK(compound("{b: 1, '$**': 1}", "{_id: 0, a: 0}") == 7246210);
  CHECK(compound("{_id: 1, 'a.b': 1, '$**': 1}", "{_id: 0, a: 0}") == 0);
  CHECK(compound("{a: 1, '$**': 1}", "{_id: 0, 'a.b': 0}") == 7246209);
  CHECK(compound("{'$**': 1, 'e.c': 1}", "{_id: 1, 'e.b': 0}") == 7246210);
  CHECK(compound("{d: 1, '$**': 1}", "{a: {b: 1, c: 1}}") == 0);
}

TEST_CASE("listIndexes shows a projection as it was given") {
  CHECK(bson::to_shell(spec("key: {'$**': 1}, v: 2, wildcardProjection: {a: {b: 1}}").document) ==
        "{ v: 2, key: { $**: 1 }, name: \"w\", wildcardProjection: { a: { b: 1 } } }");
}

TEST_CASE("beyond a thousand paths every path counts as one of arrays") {
  MultikeyPaths paths;
  paths.add({"a", "b"});
  CHECK(paths.contains("a"));
  CHECK_FALSE(paths.contains("c"));
  CHECK(paths.missing({"a", "c"}) == std::vector<std::string>{"c"});
  CHECK_FALSE(paths.too_many(998));
  CHECK(paths.too_many(999));
  paths.add_all();
  CHECK(paths.contains("c"));
  CHECK(paths.missing({"a", "c"}).empty());
}
