// Arrays in arrays are put under indexes of every kind: a query must answer as it does without any index.
#include <algorithm>
#include <set>

#include <catch2/catch.hpp>

#include "base/random.h"
#include "base/testing.h"
#include "bson/compare.h"
#include "server/query/test_support.h"

namespace server::query {
namespace {

using base::Random;

template <size_t n>
std::string one_of(Random& random, const char* const (&texts)[n]) {
  return texts[random.below(n)];
}

std::string scalar(Random& random) {
  return one_of(random, {"0", "1", "2", "3", "null", "'a'", "'b'", "2.5", "true"});
}

std::string list(Random& random, int depth);

// Small domains make filters and documents meet.
std::string value(Random& random, int depth) {
  if (depth <= 0) return scalar(random);
  switch (random.below(4)) {
    case 0: return scalar(random);
    case 1:
    case 2: return list(random, depth - 1);
    default: break;
  }
  std::string text = "{";
  for (const char* name : {"b", "c", "0"}) {
    if (random.below(name[0] == '0' ? 8 : 2) == 0)
      text += (text.size() > 1 ? ", '" : "'") + std::string(name) + "': " + value(random, depth - 1);
  }
  return text + "}";
}

std::string list(Random& random, int depth) {
  std::string text = "[";
  const uint64_t count = random.below(4);
  for (uint64_t i = 0; i < count; ++i) text += (i ? ", " : "") + value(random, depth);
  return text + "]";
}

bson::Document document(Random& random, int id) {
  std::string text = "{_id: " + std::to_string(id);
  if (random.below(8)) text += ", a: " + value(random, 4);
  if (random.below(4)) text += ", d: " + scalar(random);
  return bson::json(text + "}");
}

std::string operators(Random& random, int depth);
std::string filter(Random& random, int depth);

std::string elem_match(Random& random, int depth) {
  return "$elemMatch: " + (random.below(2) ? operators(random, depth - 1) : filter(random, depth - 1));
}

std::string values(Random& random) {
  return "[" + value(random, 1) + ", " + value(random, 2) + "]";
}

std::string an_operator(Random& random, int depth) {
  switch (random.below(depth > 0 ? 14 : 9)) {
    case 0: return "$in: " + values(random);
    case 1: return "$nin: " + values(random);
    case 2: return "$exists: " + one_of(random, {"true", "false"});
    case 3: return "$type: " + one_of(random, {"'number'", "'array'", "'string'", "'object'", "'null'"});
    case 4: return "$size: " + one_of(random, {"0", "1", "2"});
    case 5: return "$all: " + values(random);
    case 6: return "$regex: '^a'";
    case 7: return "$mod: [2, 0]";
    case 8:
      return one_of(random, {"$eq: ", "$ne: ", "$gt: ", "$gte: ", "$lt: ", "$lte: "}) +
             value(random, static_cast<int>(random.below(3)));
    case 9: return "$not: " + operators(random, depth - 1);
    case 10: return "$all: [{" + elem_match(random, depth) + "}, {" + elem_match(random, depth) + "}]";
    default: return elem_match(random, depth);
  }
}

std::string operators(Random& random, int depth) {
  std::string text = "{" + an_operator(random, depth);
  if (random.below(4) == 0) text += ", " + one_of(random, {"$gt: ", "$lte: ", "$ne: "}) + scalar(random);
  return text + "}";
}

std::string path(Random& random) {
  return one_of(random, {"a", "a", "a", "d", "a.b", "a.b", "a.c", "a.b.c", "b", "b.c", "c", "a.0", "a.0.b", "0"});
}

std::string filter(Random& random, int depth) {
  std::string text = "{";
  const uint64_t parts = 1 + random.below(2);
  for (uint64_t i = 0; i < parts; ++i) {
    if (i) text += ", ";
    if (depth > 0 && random.below(8) == 0) {
      text +=
          one_of(random, {"$or", "$and", "$nor"}) + ": [" + filter(random, depth - 1) + ", " + filter(random, depth - 1) + "]";
    } else {
      text += "'" + path(random) + "': " + (random.below(4) ? operators(random, depth) : value(random, 2));
    }
  }
  return text + "}";
}

// Each round has some of these; a document that one of them refuses (two arrays side by side) isn't inserted.
const char* const all_indexes[] = {
    "{key: {a: 1}}",
    "{key: {'a.b': 1}}",
    "{key: {'a.b': -1, d: 1}}",
    "{key: {d: 1, a: -1}}",
    "{key: {'a.b': 1, 'a.c': 1}}",
    "{key: {'a.b.c': 1}}",
    "{key: {'a.0': 1}}",
    "{key: {a: 1, 'a.b': 1}}",
    "{key: {a: -1}, sparse: true}",
    "{key: {'a.c': 1}, sparse: true}",
    "{key: {'a.c': -1, d: 1}, sparse: true}",
    "{key: {'a.c': 1, d: -1}, partialFilterExpression: {d: {$gte: 1}}}",
    "{key: {d: -1}, partialFilterExpression: {a: {$exists: true}}}",
    "{key: {d: 1}, partialFilterExpression: {'a.b': {$gt: 1}}}",
};

class World {
 public:
  explicit World(Random& random) {
    for (const char* index : all_indexes) {
      if (random.below(3) == 0) create(index);
    }
    if (indexes_ == 0) create(all_indexes[0]);
    for (int id = 0; id < 80; ++id) insert_some(random, id);
  }

  bson::Document run(const std::string& collection, const std::string& command, const std::string& rest) {
    return server_.run("{" + command + ": '" + collection + "', " + rest + "}");
  }

  std::multiset<std::string> found(const std::string& collection, const std::string& rest) {
    const bson::Document reply = run(collection, "find", "batchSize: 1000, " + rest);
    INFO(bson::to_json(reply));
    REQUIRE(reply["ok"].to_double() == 1);
    std::multiset<std::string> documents;
    for (const bson::Element& one : reply["cursor"].as_document()["firstBatch"].as_document())
      documents.insert(bson::to_json(one.as_document()));
    return documents;
  }

 private:
  void create(const char* index) { server_.create_index("indexed", "i" + std::to_string(indexes_++), index); }

  void insert_some(Random& random, int id) {
    for (;;) {
      const bson::Document made = document(random, id);
      try {
        server_.insert("indexed", made);
      } catch (const base::OperationError&) {
        continue;
      }
      return server_.insert("plain", made);
    }
  }

  TestServer server_;
  int indexes_ = 0;
};

// Numbers that are equal are one value, whichever of them comes first.
std::vector<std::string> distinct_values(const bson::Document& reply) {
  std::vector<bson::Value> values;
  for (const bson::Element& one : reply["values"].as_document()) values.emplace_back(one);
  std::sort(values.begin(), values.end(), bson::ValueLess());
  std::vector<std::string> texts;
  for (const bson::Value& one : values) {
    bson::Builder holder;
    holder.append("", one);
    texts.push_back(bson::to_json(holder.done()));
  }
  return texts;
}

TEST_CASE("arrays in arrays: with and without indexes a filter finds the same") {
  const uint64_t seed = base::testing::seed();
  for (uint64_t world = 0; world < 12; ++world) {
    Random random(seed + world);
    World worlds(random);
    for (int round = 0; round < 150; ++round) {
      const std::string text = filter(random, 3);
      INFO(text);
      const std::string rest = "filter: " + text;
      const auto plain = worlds.found("plain", rest);
      INFO(bson::to_json(worlds.run("indexed", "explain: {find", rest + "}, verbosity: 'queryPlanner'")));
      REQUIRE(worlds.found("indexed", rest) == plain);
      const auto count = worlds.run("indexed", "count", "query: " + text);
      REQUIRE(count["n"].to_int64() == static_cast<int64_t>(plain.size()));
      const std::string key = path(random);
      INFO("distinct " << key);
      REQUIRE(distinct_values(worlds.run("indexed", "distinct", "key: '" + key + "', query: " + text)) ==
              distinct_values(worlds.run("plain", "distinct", "key: '" + key + "', query: " + text)));
      const std::string sort = one_of(random, {"{a: 1, _id: 1}", "{a: -1, _id: 1}", "{'a.b': 1, d: -1, _id: 1}",
                                               "{d: 1, a: -1, _id: -1}", "{d: -1, _id: 1}"});
      INFO("sort " << sort);
      const std::string sorted = rest + ", limit: 5, sort: " + sort;
      REQUIRE(worlds.run("indexed", "find", sorted)["cursor"].as_document()["firstBatch"].as_document().bytes() ==
              worlds.run("plain", "find", sorted)["cursor"].as_document()["firstBatch"].as_document().bytes());
    }
  }
}

TEST_CASE("an index on an array gives no bounds for the elements of its elements") {
  TestServer server;
  server.insert("c", "{_id: 1, a: [[1, 2], [3]]}");
  server.insert("c", "{_id: 2, a: [3]}");
  server.create_index("c", "a_1", "{key: {a: 1}}");
  const auto ids = [&](const char* filter) {
    std::string text;
    const bson::Document reply = server.run(std::string("{find: 'c', filter: ") + filter + ", hint: 'a_1'}");
    for (const bson::Element& one : reply["cursor"].as_document()["firstBatch"].as_document()) {
      text += std::to_string(one.as_document()["_id"].as_int32()) + " ";
    }
    return text;
  };
  CHECK(ids("{a: {$elemMatch: {$elemMatch: {$gt: 2}}}}") == "1 ");
  CHECK(ids("{a: {$elemMatch: {$elemMatch: {$gt: 1, $lt: 3}}}}") == "1 ");
  CHECK(ids("{a: {$elemMatch: {$gt: 2}}}") == "2 ");
  CHECK(ids("{a: {$elemMatch: {$not: {$elemMatch: {$gt: 2}}}}}") == "2 1 ");
  CHECK(ids("{a: {$not: {$elemMatch: {$elemMatch: {$gt: 2}}}}}") == "2 ");
  CHECK(ids("{a: {$all: [{$elemMatch: {$elemMatch: {$gt: 2}}}, {$elemMatch: {$elemMatch: {$lt: 2}}}]}}") == "1 ");
  CHECK(ids("{a: {$elemMatch: {$in: [[3]]}}}") == "1 ");
  CHECK(ids("{a: {$elemMatch: {'0': {$gt: 2}}}}") == "1 ");
  CHECK(ids("{a: {$elemMatch: {$elemMatch: {$elemMatch: {$gt: 2}}}}}").empty());
}

}  // namespace
}  // namespace server::query
