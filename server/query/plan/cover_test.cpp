// An index must answer from its keys what the documents say.
#include <algorithm>
#include <map>
#include <set>

#include <catch2/catch.hpp>

#include "base/random.h"
#include "base/testing.h"
#include "server/query/test_support.h"

namespace server::query {
namespace {

using base::Random;

template <size_t n>
std::string one_of(Random& random, const char* const (&texts)[n]) {
  return texts[random.below(n)];
}

// Some values are equal but of different types, or nearly equal.
std::string value(Random& random) {
  return one_of(random, {"1",
                         "1.0",
                         "{$numberLong: '1'}",
                         "{$numberDecimal: '1'}",
                         "{$numberDecimal: '1.0'}",
                         "0",
                         "{$numberDouble: '-0.0'}",
                         "0.0",
                         "2.5",
                         "-3",
                         "{$numberDouble: '-3.0'}",
                         "{$numberLong: '5000000000'}",
                         "{$numberDouble: '5000000000'}",
                         "null",
                         "'a'",
                         "'b'",
                         "'a\\u0000b'",
                         "true",
                         "false",
                         "{x: 1, y: {$numberLong: '2'}}",
                         "{x: [1, 2.0, 'z']}",
                         "{}",
                         "{$undefined: true}",
                         "{$date: '2020-01-01T00:00:00Z'}",
                         "{$symbol: 'a'}",
                         "{$binary: {base64: 'AAEC', subType: '00'}}",
                         "{$oid: '0123456789abcdef01234567'}",
                         "{$numberDouble: 'NaN'}",
                         "{$minKey: 1}",
                         "{$maxKey: 1}",
                         "{$timestamp: {t: 1, i: 2}}",
                         "{$regularExpression: {pattern: 'a', options: 'i'}}",
                         "{$code: 'f()'}"});
}

std::string field(Random& random, const char* name) {
  return random.below(5) ? ", " + std::string(name) + ": " + value(random) : "";
}

bson::Document document(Random& random, int id) {
  std::string text = "{_id: " + std::to_string(id) + field(random, "a") + field(random, "b");
  if (random.below(4) == 0)
    text += ", c: " + value(random);
  else if (random.below(4)) {
    const std::string inside = field(random, "x") + field(random, "y");
    text += ", c: {" + (inside.empty() ? "z: 1" : inside.substr(2)) + "}";
  }
  if (random.below(4) == 0) text += ", tags: [" + value(random) + ", 1, 1.0]";
  return bson::json(text + "}");
}

const char* const all_indexes[] = {"{key: {a: 1}}",
                                   "{key: {a: 1, b: -1}}",
                                   "{key: {b: 1, 'c.x': 1, 'c.y': -1}}",
                                   "{key: {'c.x': -1, _id: 1}}",
                                   "{key: {b: -1}, sparse: true}",
                                   "{key: {a: 1, tags: 1}}",
                                   "{key: {a: -1, b: 1}, partialFilterExpression: {a: {$gte: 0}}}",
                                   "{key: {'c.x': 1, a: 1}}",
                                   "{key: {b: 1, _id: 1}, unique: true}"};

// The fields are sorted by name, because an index returns them in its own order.
std::string sorted(const bson::ValueView& value) {
  if (!value.is_object()) {
    bson::Builder holder;
    holder.append("", value);
    return bson::to_json(holder.done(), bson::JsonMode::canonical);
  }
  std::map<std::string, std::string> fields;
  for (const bson::Element& one : value.as_document()) fields[std::string(one.name)] = sorted(one);
  std::string text = "{";
  for (const auto& [name, shown] : fields) text += name + ": " + shown + ", ";
  return text + "}";
}

class World {
 public:
  explicit World(Random& random) {
    for (const char* index : all_indexes) {
      if (random.below(2)) server_.create_index("indexed", "i" + std::to_string(indexes_++), index);
    }
    for (int id = 0; id < 60; ++id) {
      const bson::Document made = document(random, id);
      for (const char* name : {"indexed", "plain"}) server_.insert(name, made);
    }
    for (int i = 0; i < 40; ++i) change(static_cast<int>(random.below(60)), random);
    if (random.below(2)) server_.create_index("indexed", "late", "{key: {b: 1, a: 1}}");
  }

  std::multiset<std::string> found(const char* name, const std::string& rest) {
    const bson::Document reply = server_.run("{find: '" + std::string(name) + "', batchSize: 1000, " + rest + "}");
    INFO(bson::to_json(reply));
    REQUIRE(reply["ok"].to_double() == 1);
    std::multiset<std::string> documents;
    for (const bson::Element& one : reply["cursor"].as_document()["firstBatch"].as_document()) documents.insert(sorted(one));
    return documents;
  }

  TestServer& server() { return server_; }

 private:
  // The new value may equal the former one but for its types.
  void change(int id, Random& random) {
    const bson::Document after = document(random, id);
    for (const char* name : {"indexed", "plain"}) {
      auto collection = server_.collection(name);
      storage::in_transaction(server_.store(), [&](storage::Transaction& transaction) {
        const auto record = collection->find_id(transaction, after["_id"]);
        const auto before = collection->find(transaction, *record);
        collection->update(transaction, *record, before->view(), after.view());
      });
    }
  }

  TestServer server_;
  int indexes_ = 0;
};

std::string filter(Random& random) {
  const std::string path = one_of(random, {"a", "b", "c.x", "_id"});
  const std::string with = one_of(random, {"$gte: ", "$lte: ", "$ne: ", "$eq: ", "$gt: "}) +
                           one_of(random, {"1", "0", "{$minKey: 1}", "{$maxKey: 1}", "null", "'a'"});
  const std::string more =
      random.below(2)
          ? ""
          : ", b: {" + one_of(random, {"$exists: true", "$exists: false", "$type: 'number'", "$ne: 1", "$gte: {$minKey: 1}"}) +
                "}";
  return "{'" + path + "': {" + with + "}" + (path == "b" ? "" : more) + "}";
}

std::string projection(Random& random) {
  std::string text = random.below(4) ? "{_id: 0" : "{_id: 1";
  std::set<std::string> fields;
  for (uint64_t i = 0, n = 1 + random.below(3); i < n; ++i) fields.insert(one_of(random, {"a", "b", "'c.x'", "'c.y'"}));
  for (const std::string& one : fields) text += ", " + one + ": 1";
  return text + "}";
}

bool covered(const bson::Document& explained) {
  bson::DocumentView stage = explained["queryPlanner"].as_document()["winningPlan"].as_document();
  bool index = false;
  for (;;) {
    if (stage["stage"].as_string() == "FETCH" || stage["stage"].as_string() == "COLLSCAN" || stage["stage"].as_string() == "OR")
      return false;
    index = index || stage["stage"].as_string() == "IXSCAN" || stage["stage"].as_string() == "DISTINCT_SCAN";
    if (!stage["inputStage"].is_object()) return index;
    stage = stage["inputStage"].as_document();
  }
}

TEST_CASE("covered queries answer as the documents do") {
  const uint64_t seed = base::testing::seed();
  int answered = 0;
  // It is chance how many queries an index can answer, so there are more worlds if these were few.
  for (uint64_t world = 0; world < 10 || (answered <= 50 && world < 40); ++world) {
    Random random(seed + world);
    World worlds(random);
    for (int round = 0; round < 100; ++round) {
      const std::string rest = "filter: " + filter(random) + ", projection: " + projection(random) +
                               ", sort: " + one_of(random, {"{}", "{}", "{a: 1}", "{b: -1}", "{'c.x': 1}"});
      const bson::Document explained =
          worlds.server().run("{explain: {find: 'indexed', " + rest + "}, verbosity: 'queryPlanner'}");
      INFO(rest << "\n" << bson::to_json(explained));
      answered += covered(explained);
      REQUIRE(worlds.found("indexed", rest) == worlds.found("plain", rest));
    }
    const bson::Document valid = worlds.server().run("{validate: 'indexed'}");
    INFO(bson::to_json(valid));
    REQUIRE(valid["valid"].as_bool());
  }
  CHECK(answered > 50);
}

std::string stages(const bson::Document& reply) {
  std::string text;
  bson::DocumentView stage = reply["queryPlanner"].as_document()["winningPlan"].as_document();
  for (;;) {
    text += (text.empty() ? "" : " ") + std::string(stage["stage"].as_string());
    if (!stage["inputStage"].is_object()) return text;
    stage = stage["inputStage"].as_document();
  }
}

class Shop {
 public:
  Shop() {
    for (int i = 0; i < 30; ++i) {
      server.insert("c", bson::json("{_id: " + std::to_string(i) + ", a: " + std::to_string(i % 5) + ", b: " + std::to_string(i) +
                                    ", d: {e: " + std::to_string(i % 3) + "}, z: 1, t: [1, 2]}"));
    }
    server.create_index("c", "a_1_b_1", "{key: {a: 1, b: 1}}");
    server.create_index("c", "d.e_1", "{key: {'d.e': 1}}");
    server.create_index("c", "t_1_z_1", "{key: {t: 1, z: 1}}");
  }
  bson::Document explain(const std::string& command) {
    return server.run("{explain: {" + command + "}, verbosity: 'executionStats'}");
  }
  TestServer server;
};

TEST_CASE("an index that has all that is asked for is read alone") {
  Shop shop;
  const auto check = [&](const std::string& command, const std::string& expected, int64_t documents) {
    const bson::Document reply = shop.explain(command);
    INFO(bson::to_json(reply));
    CHECK(stages(reply) == expected);
    CHECK(reply["executionStats"].as_document()["totalDocsExamined"].to_int64() == documents);
  };
  check("find: 'c', filter: {a: 3}, projection: {_id: 0, b: 1}", "PROJECTION_COVERED IXSCAN", 0);
  check("find: 'c', filter: {a: 3}, projection: {_id: 0, a: 1, b: 1}", "PROJECTION_COVERED IXSCAN", 0);
  check("find: 'c', filter: {a: 3, b: {$ne: 3}}, projection: {_id: 0, b: 1}", "PROJECTION_COVERED IXSCAN", 0);
  check("find: 'c', filter: {a: {$in: [1, 2]}}, projection: {_id: 0, b: 1}, sort: {b: -1}", "PROJECTION_COVERED SORT_MERGE", 0);
  check("find: 'c', filter: {'d.e': 1}, projection: {_id: 0, 'd.e': 1}", "PROJECTION_DEFAULT IXSCAN", 0);
  check("find: 'c', filter: {_id: {$lt: 3}}, projection: {_id: 1}", "PROJECTION_COVERED IXSCAN", 0);
  check("find: 'c', filter: {t: 2}, projection: {_id: 0, z: 1}", "PROJECTION_COVERED IXSCAN", 0);
  // These fields are not in the index, have an array, or need more than it has.
  check("find: 'c', filter: {a: 3}, projection: {b: 1}", "PROJECTION_SIMPLE FETCH IXSCAN", 6);
  check("find: 'c', filter: {a: 3}, projection: {_id: 0, z: 1}", "PROJECTION_SIMPLE FETCH IXSCAN", 6);
  check("find: 'c', filter: {t: 2}, projection: {_id: 0, t: 1}", "PROJECTION_SIMPLE FETCH IXSCAN", 30);
  check("find: 'c', filter: {a: 3}, projection: {b: 0}", "PROJECTION_SIMPLE FETCH IXSCAN", 6);
  check("find: 'c', filter: {'d.e': 1}, projection: {_id: 0, d: 1}", "PROJECTION_SIMPLE FETCH IXSCAN", 10);
  check("find: 'c', filter: {a: 3, z: 1}, projection: {_id: 0, b: 1}", "PROJECTION_SIMPLE FETCH IXSCAN", 6);
  check("find: 'c', filter: {a: 3}", "FETCH IXSCAN", 6);
  check("count: 'c', query: {a: 3}", "COUNT COUNT_SCAN", 0);
  check("count: 'c', query: {a: {$in: [1, 3]}}", "COUNT IXSCAN", 0);
  check("count: 'c', query: {a: 3, z: 1}", "COUNT FETCH IXSCAN", 6);
  check("distinct: 'c', key: 'a'", "PROJECTION_COVERED DISTINCT_SCAN", 0);
  check("distinct: 'c', key: 'b', query: {a: 3}", "PROJECTION_COVERED DISTINCT_SCAN", 0);
  check("distinct: 'c', key: 'd.e'", "PROJECTION_DEFAULT DISTINCT_SCAN", 0);
  check("distinct: 'c', key: 't'", "COLLSCAN", 30);
  check("distinct: 'c', key: 'a', query: {z: 1}", "COLLSCAN", 30);
}

TEST_CASE("predicates behind more values than bounds may have are still looked at") {
  TestServer server;
  for (int i = 0; i < 40; ++i) {
    server.insert("c", bson::json("{_id: " + std::to_string(i) + ", a: " + std::to_string(i % 2) +
                                  ", b: " + std::to_string(i / 2 % 2) + ", c: " + std::to_string(i / 4) + "}"));
  }
  server.create_index("c", "abc", "{key: {a: 1, b: 1, c: 1}}");
  const auto some = [](int count) {
    std::string values = "{$in: [0";
    for (int i = 1; i < count; ++i) values += ", " + std::to_string(i);
    return values + "]}";
  };
  const auto count = [&](const std::string& filter) { return server.run("{count: 'c', query: " + filter + "}")["n"].to_int64(); };
  for (const auto& [of_a, of_b] :
       {std::pair(100, 100), {101, 100}, {100, 101}, {10'000, 1}, {10'001, 1}, {10'001, 2}, {2, 5001}}) {
    INFO(of_a << " values of a, " << of_b << " of b");
    const int with_b = of_b == 1 ? 1 : 2;
    CHECK(count("{a: " + some(of_a) + ", b: " + some(of_b) + "}") == 20 * with_b);
    CHECK(count("{a: " + some(of_a) + ", b: " + some(of_b) + ", c: 5}") == 2 * with_b);
    CHECK(count("{a: " + some(of_a) + ", b: 1, c: {$gt: 7}}") == 4);
    CHECK(count("{a: " + some(of_a) + ", c: 5}") == 4);
  }
}

TEST_CASE("a count's scan shows the two keys it goes between") {
  Shop shop;
  const auto bounds = [&](const std::string& query) {
    const bson::Document reply = shop.explain("count: 'c', query: " + query);
    return bson::to_json(reply["queryPlanner"]
                             .as_document()["winningPlan"]
                             .as_document()["inputStage"]
                             .as_document()["indexBounds"]
                             .as_document());
  };
  CHECK(bounds("{a: 3}") == R"({"startKey": {"a": 3, "b": {"$minKey": 1}}, "startKeyInclusive": true, "endKey": {"a": 3, )"
                            R"("b": {"$maxKey": 1}}, "endKeyInclusive": true})");
  CHECK(bounds("{a: {$gt: 3, $lt: 5}}") ==
        R"({"startKey": {"a": 3, "b": {"$maxKey": 1}}, "startKeyInclusive": false, "endKey": {"a": 5, )"
        R"("b": {"$minKey": 1}}, "endKeyInclusive": false})");
}

TEST_CASE("an array that comes while a covered query is read is shown whole") {
  TestServer server;
  for (int i = 0; i < 10; ++i)
    server.insert("c", bson::json("{_id: " + std::to_string(i) + ", a: " + std::to_string(i) + ", b: 1}"));
  server.create_index("c", "a_1_b_1", "{key: {a: 1, b: 1}}");
  const std::string rest = "filter: {a: {$gte: 3}}, projection: {_id: 0, a: 1}, hint: 'a_1_b_1'";
  REQUIRE(stages(server.run("{explain: {find: 'c', " + rest + "}}")) == "PROJECTION_COVERED IXSCAN");
  const bson::Document begun = server.run("{find: 'c', batchSize: 2, " + rest + "}");
  CHECK(bson::to_json(begun["cursor"].as_document()["firstBatch"]) == R"([{"a": 3}, {"a": 4}])");
  const auto collection = server.collection("c");
  storage::in_transaction(server.store(), [&](storage::Transaction& transaction) {
    const auto record = collection->find_id(transaction, bson::Value(6));
    collection->update(transaction, *record, collection->find(transaction, *record)->view(),
                       bson::json("{_id: 6, a: [6, 60], b: 1}"));
  });
  bson::Builder more;
  more.append("getMore", begun["cursor"].as_document()["id"].to_int64()).append("collection", "c");
  const bson::Document rest_of_it = server.run(more.done());
  INFO(bson::to_json(rest_of_it));
  CHECK(bson::to_json(rest_of_it["cursor"].as_document()["nextBatch"]) ==
        R"([{"a": 5}, {"a": [6, 60]}, {"a": 7}, {"a": 8}, {"a": 9}])");
}

TEST_CASE("a distinct scan leaps over what has the value already, and keeps null from missing") {
  Shop shop;
  const bson::Document reply = shop.explain("distinct: 'c', key: 'a'");
  CHECK(reply["executionStats"].as_document()["totalKeysExamined"].to_int64() <= 6);
  CHECK(reply["executionStats"].as_document()["nReturned"].to_int64() == 5);
  TestServer server;
  for (const char* document : {"{_id: 1}", "{_id: 2}", "{_id: 3, a: null}", "{_id: 4, a: 2}", "{_id: 5, a: 2.0}",
                               "{_id: 6, a: {$numberDecimal: '2.50'}}"})
    server.insert("c", document);
  server.create_index("c", "a_-1", "{key: {a: -1}}");
  CHECK(bson::to_json(server.run("{distinct: 'c', key: 'a'}")["values"]) == R"([{"$numberDecimal": "2.50"}, 2, null])");
  const bson::Document found =
      server.run("{find: 'c', filter: {a: {$gte: {$minKey: 1}}}, projection: {_id: 0, a: 1}, hint: 'a_-1'}");
  CHECK(bson::to_json(found["cursor"].as_document()["firstBatch"]) ==
        R"([{"a": {"$numberDecimal": "2.50"}}, {"a": 2}, {"a": 2.0}, {}, {}, {"a": null}])");
}

}  // namespace
}  // namespace server::query
