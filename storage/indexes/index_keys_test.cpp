#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "base/testing.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "bson/keystring.h"
#include "bson/path.h"
#include "storage/indexes/index_keys.h"

using namespace storage;
using bson::json;

namespace {

IndexSpec spec(const std::string& key, const std::string& more = "") {
  std::string text = "{name: 'i', key: ";
  text.append(key).append(more).append("}");
  return parse_index_spec(json(text));
}

// Returns the keys as values: [[5, 1], [5, 2]].
std::string keys(const std::string& key, const std::string& document, const std::string& more = "") {
  const IndexSpec index = spec(key, more);
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

std::vector<bool> multikey(const std::string& key, const std::string& document) {
  IndexKeys found;
  const IndexSpec index = spec(key);
  index_keys(index, json(document), found);
  std::vector<bool> flags;
  for (size_t i = 0; i < index.fields.size(); ++i) flags.push_back(found.multikey_fields >> i & 1);
  return flags;
}

std::string refused(const std::string& spec_text) {
  try {
    parse_index_spec(json(spec_text));
    return "accepted";
  } catch (const base::OperationError& error) {
    return base::code_name(error.code());
  }
}

}  // namespace

TEST_CASE("keys of plain, missing and nested fields") {
  CHECK(keys("{a: 1}", "{a: 5}") == "{ a: 5 }");
  CHECK(keys("{a: 1}", "{b: 5}") == "{ a: null }");
  CHECK(keys("{a: 1, 'b.c': -1}", "{a: 'x', b: {c: 2}}") == "{ a: \"x\", b.c: 2 }");
  CHECK(keys("{'a.b': 1}", "{a: 5}") == "{ a.b: null }");
  CHECK(keys("{a: 1}", "{a: {b: 1}}") == "{ a: { b: 1 } }");
  CHECK(keys("{a: 1}", "{b: 1}", ", sparse: true").empty());
  CHECK(keys("{a: 1, b: 1}", "{b: 1}", ", sparse: true") == "{ a: null, b: 1 }");
  CHECK(keys("{a: 1, b: 1}", "{c: 1}", ", sparse: true").empty());
  CHECK(keys("{a: 1}", "{a: null}", ", sparse: true") == "{ a: null }");
}

TEST_CASE("keys of places and arrays multiply, each once and not without end") {
  // Two places and two numbers, though each stands there twice.
  const std::string few = "{a: [{p: [0, 0]}, {p: [9, 9]}, {p: [0, 0]}], b: [1, 2, 1]}";
  for (const char* kind : {"2d", "2dsphere"}) {
    const IndexSpec index = spec("{'a.p': '" + std::string(kind) + "', b: 1}");
    IndexKeys found;
    index_keys(index, json(few), found);
    CHECK(found.keys.size() == 4);
    CHECK(found.multikey_fields == 3);

    bson::Builder document;
    {
      auto places = document.array("a");
      for (int i = 0; i < 1000; ++i) {
        auto place = places.object();
        place.append("p", json("{lng: " + std::to_string(i % 100) + ", lat: " + std::to_string(i / 100) + "}"));
      }
    }
    {
      auto numbers = document.array("b");
      for (int i = 0; i < 101; ++i) numbers.append(i);
    }
    const bson::Document many = document.done();
    try {
      index_keys(index, many, found);
      FAIL("accepted");
    } catch (const base::OperationError& error) {
      CHECK(static_cast<int>(error.code()) == 201);
    }
    // The same place, however often, is one.
    index_keys(index, json("{a: [{p: [0, 0]}, {p: [0, 0]}, {p: [0, 0]}], b: 7}"), found);
    CHECK(found.keys.size() == 1);
  }
}

namespace {

// Returns {"a": [0, 1, 2 …], ...others}; each number occurs `times`.
bson::Document many_numbers(int count, int times = 1, bson::DocumentView others = {}) {
  bson::Builder out;
  out.append_all(others);
  {
    auto array = out.array("a");
    for (int i = 0; i < count; ++i) array.append(i / times);
  }
  return out.done();
}

bson::Document long_text(const std::string& name, size_t bytes) {
  return bson::Builder().append(name, std::string(bytes, 'x')).done();
}

// Returns how many new keys the document has under the index; -1: it is refused for their number or bytes.
int new_keys(const std::string& key, bson::DocumentView document) {
  IndexKeys found;
  const auto error = base::testing::error_of([&] { index_keys(spec(key), document, found, KeyLimits::of_new_keys); });
  if (error == base::ErrorCode::cannot_build_index_keys) return -1;
  REQUIRE(error == base::ErrorCode::ok);
  return static_cast<int>(found.keys.size());
}

}  // namespace

TEST_CASE("a document has a key for each of its values, and of equal ones one counts") {
  constexpr int many = 600'000;
  CHECK(new_keys("{a: 1}", many_numbers(many)) == many);
  CHECK(new_keys("{'$**': 1}", many_numbers(many)) == many);
  CHECK(new_keys("{a: 1}", many_numbers(450'000, 5)) == 90'000);
  CHECK(new_keys("{'$**': 1}", many_numbers(450'000, 5)) == 90'000);
}

TEST_CASE("new keys of a document are limited in bytes") {
  const bson::Document text = long_text("s", 1 << 20);
  CHECK(new_keys("{s: 1, a: 1}", many_numbers(60, 1, text)) == 60);
  CHECK(new_keys("{s: 1, a: 1}", many_numbers(70, 1, text)) == -1);
  // All keys of a message's largest document would have terabytes, whether they differ or not.
  CHECK(new_keys("{s: 1, a: 1}", many_numbers(500'000, 1, text)) == -1);
  CHECK(new_keys("{s: 1, a: 1}", many_numbers(500'000, 500'000, text)) == -1);
  IndexKeys found;
  index_keys(spec("{s: 1, a: 1}"), many_numbers(70, 1, text), found);
  CHECK(found.keys.size() == 70);

  const std::string name(1 << 20, 'f');
  const bson::Document numbers = many_numbers(500'000);
  CHECK(new_keys("{'$**': 1}", bson::Builder().append(name, bson::Value::array(many_numbers(50)["a"].as_document())).done()) ==
        50);
  CHECK(new_keys("{'$**': 1}", bson::Builder().append(name, numbers["a"]).done()) == -1);
  bson::Builder fields;
  for (int i = 0; i < 100'000; ++i) fields.append("n" + std::to_string(i), bson::Value::array(bson::DocumentView()));
  CHECK(new_keys("{'$**': 1}", bson::Builder().append(name, bson::Value(fields.done())).done()) == -1);

  bson::Builder places;
  places.append_all(text);
  {
    auto array = places.array("p");
    for (int i = 0; i < 100; ++i) array.append(json("{lng: " + std::to_string(i) + ", lat: 5}"));
  }
  CHECK(new_keys("{p: '2d', s: 1}", places.done()) == -1);
}

TEST_CASE("keys of arrays: one for each element, and what MongoDB does at the edges") {
  CHECK(keys("{a: 1}", "{a: [2, 1, 2]}") == "{ a: 1 } { a: 2 }");
  CHECK(keys("{a: 1}", "{a: []}") == "{ a: undefined }");
  CHECK(keys("{a: 1}", "{a: [[1, 2], 3]}") == "{ a: 3 } { a: [ 1, 2 ] }");
  CHECK(keys("{a: 1}", "{a: [[]]}") == "{ a: [] }");
  CHECK(keys("{'a.b': 1}", "{a: [{b: 1}, {b: [2, 3]}, 4, {c: 1}]}") == "{ a.b: null } { a.b: 1 } { a.b: 2 } { a.b: 3 }");
  CHECK(keys("{'a.b': 1}", "{a: []}") == "{ a.b: null }");
  CHECK(keys("{'a.b': 1}", "{a: []}", ", sparse: true").empty());
  CHECK(keys("{'a.b': 1}", "{a: [[{b: 1}]]}") == "{ a.b: null }");
  CHECK(keys("{'a.b': 1, 'a.c': 1}", "{a: [{b: 1, c: 2}, {b: 3}]}") == "{ a.b: 1, a.c: 2 } { a.b: 3, a.c: null }");
  CHECK(keys("{a: 1, 'a.b': 1}", "{a: [{b: 1}, 7]}") == "{ a: 7, a.b: null } { a: { b: 1 }, a.b: 1 }");
  CHECK(keys("{a: 1, b: 1}", "{a: [1, 2], b: 9}") == "{ a: 1, b: 9 } { a: 2, b: 9 }");
  CHECK(multikey("{a: 1, b: 1}", "{a: [1, 2], b: 9}") == std::vector<bool>{true, false});
  CHECK(multikey("{'a.b': 1, c: 1}", "{a: [{b: 1}], c: 1}") == std::vector<bool>{true, false});
  CHECK(multikey("{a: 1}", "{a: []}") == std::vector<bool>{true});
  CHECK(multikey("{a: 1}", "{a: {b: [1]}}") == std::vector<bool>{false});
}

TEST_CASE("a number in a path is a position where the array has it") {
  CHECK(keys("{'a.0': 1}", "{a: [5, 6]}") == "{ a.0: 5 }");
  CHECK(keys("{'a.1.b': 1}", "{a: [5, {b: 6}]}") == "{ a.1.b: 6 }");
  CHECK(keys("{'a.5': 1}", "{a: [1]}") == "{ a.5: null }");
  CHECK(keys("{'a.0': 1}", "{a: {'0': 3}}") == "{ a.0: 3 }");
  CHECK(keys("{'a.0': 1}", "{a: [[1, 2]]}") == "{ a.0: 1 } { a.0: 2 }");
  IndexKeys found;
  CHECK_THROWS_AS(index_keys(spec("{'a.0': 1}"), json("{a: [{'0': 1}]}"), found), base::OperationError);
}

TEST_CASE("two arrays in one key are refused in MongoDB's words") {
  IndexKeys found;
  try {
    index_keys(spec("{a: 1, b: 1}"), json("{a: [1], b: [2]}"), found);
    FAIL("no error");
  } catch (const base::OperationError& error) {
    CHECK(static_cast<int>(error.code()) == 171);
    CHECK(std::string(error.what()) == "cannot index parallel arrays [b] [a]");
  }
}

TEST_CASE("keys of random documents on one path are those a query's path visit finds") {
  base::Random random(9);
  const auto value = [&](auto& self, int depth) -> std::string {
    switch (random.below(depth > 3 ? 2 : 5)) {
      case 0: return std::to_string(random.below(4));
      case 1: return "'s'";
      case 2:
      case 3: {
        std::string object = random.below(2) ? "{a: " : "{b: ";
        object += self(self, depth + 1);
        return object += "}";
      }
      default: {
        std::string array = "[";
        for (uint64_t n = random.below(4); n > 0; --n) {
          if (array.size() > 1) array += ", ";
          array += self(self, depth + 1);
        }
        return array += "]";
      }
    }
  };
  for (int i = 0; i < 3000; ++i) {
    std::string text = "{a: ";
    text += value(value, 0);
    const auto document = json(text += "}");
    for (const char* path : {"a", "a.b", "a.a.b"}) {
      IndexKeys found;
      index_keys(spec("{'" + std::string(path) + "': 1}"), document, found);
      // Every value that the path reaches is indexed; an array at the end is replaced by its elements.
      std::set<Bytes> expected;
      const auto add = [&](const bson::ValueView& one) {
        bson::KeyString key;
        key.append(one.exists() ? one : bson::ValueView(bson::Type::null, {}));
        expected.insert(key.bytes());
      };
      bson::visit_path(document, path, [&](const bson::ValueView& one, bool) {
        if (!one.is_array()) {
          add(one);
        } else if (one.as_document().empty()) {
          add(bson::ValueView(bson::Type::undefined, {}));
        } else {
          for (const auto& element : one.as_document()) add(element);
        }
        return true;
      });
      const std::set<Bytes> keys(found.keys.begin(), found.keys.end());
      INFO(bson::to_json(document) << " " << path);
      // In addition, elements that the path can't enter count as null.
      bson::KeyString null_key;
      null_key.append(bson::ValueView(bson::Type::null, {}));
      REQUIRE(std::includes(keys.begin(), keys.end(), expected.begin(), expected.end()));
      for (const Bytes& key : keys) REQUIRE((expected.count(key) == 1 || key == null_key.bytes()));
    }
  }
}

TEST_CASE("specifications are checked as MongoDB checks them") {
  CHECK(refused("{key: {a: 1}, name: 'a', unique: 1}") == "accepted");
  CHECK(refused("{key: {a: 1.5}, name: 'a', v: 1}") == "accepted");
  CHECK(refused("{key: {'a.$id': 1}, name: 'a'}") == "accepted");
  CHECK(refused("{key: {a: 1}}") == "FailedToParse");
  CHECK(refused("{name: 'a'}") == "FailedToParse");
  CHECK(refused("{key: 5, name: 'a'}") == "TypeMismatch");
  CHECK(refused("{key: {}, name: 'a'}") == "CannotCreateIndex");
  CHECK(refused("{key: {a: 0}, name: 'a'}") == "CannotCreateIndex");
  CHECK(refused("{key: {a: true}, name: 'a'}") == "CannotCreateIndex");
  CHECK(refused("{key: {'': 1}, name: 'a'}") == "CannotCreateIndex");
  CHECK(refused("{key: {'a..b': 1}, name: 'a'}") == "CannotCreateIndex");
  CHECK(refused("{key: {'$a': 1}, name: 'a'}") == "CannotCreateIndex");
  CHECK(refused("{key: {a: 'nonsense'}, name: 'a'}") == "CannotCreateIndex");
  CHECK(refused("{key: {'$**': 1}, name: 'a'}") == "accepted");
  CHECK(refused("{key: {a: 1}, name: ''}") == "CannotCreateIndex");
  CHECK(refused("{key: {a: 1}, name: '_id_'}") == "BadValue");
  CHECK(refused("{key: {a: 1}, name: '*'}") == "BadValue");
  CHECK(refused("{key: {_id: 1}, name: 'x', unique: true}") == "InvalidIndexSpecificationOption");
  CHECK(refused("{key: {a: 1}, name: 'a', shiny: 1}") == "InvalidIndexSpecificationOption");
  CHECK(refused("{key: {a: 1}, name: 'a', unique: 'x'}") == "TypeMismatch");
  CHECK(refused("{key: {a: 1}, name: 'a', v: 3}") == "CannotCreateIndex");
  CHECK(refused("{key: {a: 1}, name: 'a', expireAfterSeconds: -1}") == "CannotCreateIndex");
  CHECK(refused("{key: {a: 1}, name: 'a', expireAfterSeconds: 'x'}") == "CannotCreateIndex");
  CHECK(refused("{key: {a: 1, b: 1}, name: 'a', expireAfterSeconds: 5}") == "CannotCreateIndex");
  CHECK(refused("{key: {a: 1}, name: 'a', sparse: true, partialFilterExpression: {a: 1}}") == "CannotCreateIndex");
  CHECK(refused("{key: {a: 1}, name: 'a', collation: {locale: 'de'}}") == "accepted");
  CHECK(refused("{key: {a: 1}, name: 'a', collation: {locale: 'zz'}}") == "BadValue");
  CHECK(refused("{key: {a: 1}, name: 'a', collation: {}}") == "BadValue");
  CHECK(refused("{key: {a: 1}, name: 'a', collation: 5}") == "TypeMismatch");
  CHECK(refused("{key: {a: 'hashed'}, name: 'a', unique: true}") == "Location16764");
  CHECK(refused("{key: {a: 'hashed', b: 'hashed'}, name: 'a'}") == "Location31303");
  CHECK(refused("{key: {a: 'hashed', b: 1}, name: 'a'}") == "accepted");
  CHECK(refused("{key: {a: 1, b: '2dsphere'}, name: 'a'}") == "accepted");
  CHECK(refused("{key: {a: 'hashed', b: '2dsphere'}, name: 'a'}") == "Location16826");
  CHECK(refused("{key: {a: '2dsphere'}, name: 'a', '2dsphereIndexVersion': 4}") == "CannotCreateIndex");
  CHECK(refused("{key: {a: '2dsphere'}, name: 'a', finestIndexedLevel: 31}") == "Location16748");
  CHECK(refused("{key: {a: '2d', b: 1}, name: 'a', bits: 32}") == "accepted");
  CHECK(refused("{key: {a: '2d'}, name: 'a', bits: 33}") == "InvalidOptions");
  CHECK(refused("{key: {a: '2d'}, name: 'a', min: 5, max: 5}") == "InvalidOptions");
  CHECK(refused("{key: {a: 1, b: '2d'}, name: 'a'}") == "Location16801");
  CHECK(refused("{key: {a: '2d', b: '2d'}, name: 'a'}") == "Location16800");
  CHECK(refused("{key: {a: 1}, name: 'a', wildcardProjection: {b: 1}}") == "BadValue");
  CHECK(refused("{key: {a: 1}, name: 'a', storageEngine: {wiredTiger: {}}}") == "accepted");
  CHECK(refused("{key: {a: 1}, name: 'a', storageEngine: {wiredTiger: {configString: ''}}}") == "accepted");
  CHECK(refused("{key: {a: 1}, name: 'a', storageEngine: {wiredTiger: {configString: 'block_compressor=none'}}}") ==
        "InvalidOptions");
  CHECK(refused("{key: {a: 1}, name: 'a', storageEngine: {wiredTiger: 1}}") == "InvalidOptions");
  CHECK(refused("{key: {a: 1}, name: 'a', storageEngine: {mmapv1: {}}}") == "InvalidOptions");
  CHECK(refused("{key: {a: 1}, name: 'a', storageEngine: 'x'}") == "TypeMismatch");
  CHECK(parse_index_spec(json("{key: {_id: 1}, name: 'mine'}")).name == "_id_");
  CHECK(bson::to_json(parse_index_spec(json("{name: 'a', unique: true, key: {a: 1}, sparse: false}")).document) ==
        bson::to_json(json("{v: 2, key: {a: 1}, name: 'a', unique: true}")));
}
