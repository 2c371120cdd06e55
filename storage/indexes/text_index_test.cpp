#include "storage/indexes/text_index.h"

#include <catch2/catch.hpp>

#include "base/testing.h"
#include "bson/json.h"

using namespace storage;
using bson::json;

namespace {

IndexSpec spec(const std::string& options) {
  return parse_index_spec(json("{name: 't', " + options + "}"));
}

// Returns the keys as values.
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

int refusal(const std::string& options, const std::string& document = "{}") {
  return base::testing::code_of([&] { keys(options, document); });
}

}  // namespace

TEST_CASE("a text index has an entry for each term, with its score") {
  CHECK(keys("key: {a: 'text'}", "{a: 'cat'}") == "{ _fts: \"cat\", _ftsx: 1.1 }");
  CHECK(keys("key: {a: 'text'}", "{a: 'hot coffee'}") == "{ _fts: \"coffe\", _ftsx: 0.75 } { _fts: \"hot\", _ftsx: 0.75 }");
  CHECK(keys("key: {a: 'text'}", "{a: 'dogs dog'}") == "{ _fts: \"dog\", _ftsx: 1.5 }");
  CHECK(keys("key: {a: 'text'}, weights: {a: 10}", "{a: 'hot coffee'}") ==
        "{ _fts: \"coffe\", _ftsx: 7.5 } { _fts: \"hot\", _ftsx: 7.5 }");
  CHECK(keys("key: {a: 'text', b: 'text'}", "{a: 'coffee', b: 'coffee'}") == "{ _fts: \"coffe\", _ftsx: 2.0 }");
  CHECK(keys("key: {a: 'text'}", "{a: 5, b: 'cat'}").empty());
  CHECK(keys("key: {a: 'text'}", "{}").empty());
}

TEST_CASE("texts lie in objects and arrays") {
  CHECK(keys("key: {'a.b': 'text'}", "{a: [{b: 'coffee'}, {b: ['tea', 5]}]}") ==
        "{ _fts: \"coffe\", _ftsx: 1.0 } { _fts: \"tea\", _ftsx: 1.1 }");
  CHECK(keys("key: {a: 'text'}", "{a: {b: 'coffee'}}").empty());
  CHECK(keys("key: {a: 'text'}", "{a: [['coffee']]}").empty());
  CHECK(keys("key: {'$**': 'text'}", "{a: [['coffee']], b: {c: 'tea'}}") ==
        "{ _fts: \"coffe\", _ftsx: 1.0 } { _fts: \"tea\", _ftsx: 1.1 }");
}

TEST_CASE("documents, and objects in them, name their language") {
  CHECK(keys("key: {a: 'text'}", "{a: 'the houses', language: 'none'}") ==
        "{ _fts: \"houses\", _ftsx: 0.75 } { _fts: \"the\", _ftsx: 0.75 }");
  CHECK(keys("key: {'a.b': 'text'}", "{a: [{b: 'the', language: 'none'}, {b: 'the'}]}") == "{ _fts: \"the\", _ftsx: 1.1 }");
  CHECK(keys("key: {a: 'text'}, language_override: 'l'", "{a: 'the', l: 'none', language: 'klingon'}") ==
        "{ _fts: \"the\", _ftsx: 1.1 }");
  CHECK(refusal("key: {a: 'text'}", "{language: 'klingon'}") == 17262);
  CHECK(refusal("key: {a: 'text'}", "{language: 5}") == 17261);
}

TEST_CASE("fields stand around the terms") {
  CHECK(keys("key: {a: 1, t: 'text', b: -1}", "{a: 1, t: 'cat', b: 2}") == "{ a: 1, _fts: \"cat\", _ftsx: 1.1, b: 2 }");
  CHECK(keys("key: {a: 1, t: 'text'}", "{t: 'cat'}") == "{ a: null, _fts: \"cat\", _ftsx: 1.1 }");
  CHECK(refusal("key: {a: 1, t: 'text'}", "{a: [1], t: 'cat'}") == 201);
  CHECK(refusal("key: {'a.b': 1, t: 'text'}", "{a: [{b: 1}], t: 'cat'}") == 201);
}

TEST_CASE("the score is read from the key behind its beginning") {
  const IndexSpec index = spec("key: {a: -1, t: 'text', b: 1}, weights: {t: 7}");
  IndexKeys found;
  index_keys(index, json("{a: 'x', t: 'hot coffee', b: 9}"), found);
  std::vector<bson::Value> before;
  before.emplace_back(bson::Value("x"));
  const Bytes beginning = text_key_beginning(index, before, "coffe");
  REQUIRE(found.keys.size() == 2);
  REQUIRE(found.keys[0].starts_with(beginning));
  CHECK(text_key_score(found.keys[0], beginning.size()) == 5.25);
}

TEST_CASE("long terms are cut and stay apart") {
  const std::string word(300, 'x');
  const IndexSpec index = spec("key: {a: 'text'}, default_language: 'none'");
  IndexKeys found;
  index_keys(index, json("{a: '" + word + "y " + word + "z'}"), found);
  REQUIRE(found.keys.size() == 2);
  CHECK(found.keys[0] != found.keys[1]);
  CHECK(found.keys[0].size() < 280);
  CHECK(found.keys[0].starts_with(text_key_beginning(index, {}, word + "y")) !=
        found.keys[1].starts_with(text_key_beginning(index, {}, word + "y")));
}

TEST_CASE("a document has no more terms than a text index takes, in one text or in many") {
  const auto refusal = [](bool one_text, bool far_too_many) {
    bson::Builder document;
    {
      auto texts = document.array("a");
      std::string text;
      for (int i = 0; i < (far_too_many ? 600'000 : 1000); ++i) {
        text += std::to_string(i) + " ";
        if (one_text || text.size() < 2000) continue;
        texts.append(text);
        text.clear();
      }
      texts.append(text);
    }
    IndexKeys found;
    const int code =
        base::testing::code_of([&] { index_keys(spec("key: {a: 'text'}, default_language: 'none'"), document.done(), found); });
    CHECK((code != 0 || found.keys.size() == 1000));
    return code;
  };
  for (const bool one_text : {false, true}) {
    CHECK(refusal(one_text, false) == 0);
    CHECK(refusal(one_text, true) == 16732);
  }
}

TEST_CASE("what is kept of a text index makes the same index") {
  for (const char* options : {"key: {a: 1, b: 'text', c: 'text', d: 1}, weights: {b: 3, e: 4}, default_language: 'fr'",
                              "key: {'$**': 'text'}, language_override: 'l', textIndexVersion: 2", "key: {a: 'text'}"}) {
    const IndexSpec first = spec(options), second = parse_index_spec(first.document);
    CHECK(first.document.bytes() == second.document.bytes());
    CHECK(same_text_options(first, second));
    CHECK(first.key.bytes() == second.key.bytes());
  }
}
