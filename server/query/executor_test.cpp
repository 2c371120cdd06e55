#include "server/query/executor.h"

#include <algorithm>
#include <set>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/random.h"
#include "base/testing.h"
#include "server/query/matcher.h"
#include "server/query/random_queries.h"
#include "server/query/reader.h"
#include "server/query/sort_pattern.h"
#include "server/query/test_support.h"

namespace server::query {
namespace {

using base::Random;

std::string random_sort(Random& random) {
  static const char* const sorts[] = {"{}",     "{}",         "{a: 1}",   "{a: -1}", "{d: 1, e: -1}", "{d: -1, e: 1}",
                                      "{e: 1}", "{'a.b': 1}", "{_id: -1}"};
  return sorts[random.below(std::size(sorts))];
}

struct Found {
  std::vector<int> ids;
  std::vector<bson::Bytes> keys;
};

// Filters may hold the same field twice, which a map of JSON would hide: BSON keeps both.
class World {
 public:
  World(Random& random, bool with_indexes) {
    for (int id = 0; id < 60; ++id) {
      documents_.push_back(bson::json(random_document(random, id)));
      server_.insert("c", documents_.back());
    }
    if (!with_indexes) return;
    server_.create_index("c", "a", "{key: {a: 1}}");
    server_.create_index("c", "ab", "{key: {'a.b': 1, 'a.c': -1}}");
    server_.create_index("c", "de", "{key: {d: 1, e: -1}}");
    server_.create_index("c", "da", "{key: {d: -1, a: 1, e: 1}}");
    server_.create_index("c", "sparse", "{key: {e: 1}, sparse: true}");
    server_.create_index("c", "partial", "{key: {'a.c': 1}, partialFilterExpression: {d: {$gte: 1}}}");
  }

  Found run(const Query& query) {
    TestServer::Operation operation(server_);
    Reader reader(operation.op, server_.collection("c"), "test.c", query);
    summary_ = reader.executor().summary();
    const SortPattern sort = SortPattern::parse(query.sort);
    Found found;
    while (reader.next()) {
      found.ids.push_back(reader.document()["_id"].as_int32());
      found.keys.push_back(sort.key(reader.document()));
    }
    return found;
  }

  std::vector<int> brute_force(const Query& query) const {
    ParseContext context;
    context.expressions = expression_compiler();
    const auto matcher = Matcher::parse(query.filter, context);
    std::vector<int> ids;
    for (const auto& document : documents_) {
      if (matcher->matches(document)) ids.push_back(document["_id"].as_int32());
    }
    return ids;
  }

  const std::string& summary() const { return summary_; }
  TestServer& server() { return server_; }

 private:
  TestServer server_;
  std::vector<bson::Document> documents_;
  std::string summary_;
};

TEST_CASE("with any indexes, a query finds the documents that a scan of all documents finds") {
  const uint64_t seed = base::testing::seed();
  for (int world = 0; world < 4; ++world) {
    Random random(seed + static_cast<uint64_t>(world));
    World indexed(random, world > 0);
    std::set<std::string> plans;
    for (int round = 0; round < 400; ++round) {
      Query query;
      const std::string filter = "{" + random_filter(random) + "}";
      query.filter = bson::json(filter);
      query.sort = bson::json(random_sort(random));
      INFO(filter << " sorted by " << bson::to_json(query.sort));
      Found found = indexed.run(query);
      INFO(indexed.summary());
      plans.insert(indexed.summary());
      REQUIRE(std::is_sorted(found.keys.begin(), found.keys.end()));
      std::sort(found.ids.begin(), found.ids.end());
      REQUIRE(found.ids == indexed.brute_force(query));
    }
    if (world > 0) CHECK(plans.size() > 8);
  }
}

TEST_CASE("a sparse index isn't taken for a filter that only excludes other fields' absence") {
  TestServer server;
  server.insert("c", "{_id: 1}");
  server.create_index("c", "e", "{key: {e: 1}, sparse: true}");
  const auto reply = server.run("{find: 'c', filter: {$or: [{_id: {$type: 'number'}, e: null}, {e: 0}]}}");
  CHECK(reply["cursor"].as_document()["firstBatch"].as_document().count() == 1);
}

TEST_CASE("counting by keys alone counts what matches") {
  Random random(7);
  World world(random, true);
  for (int round = 0; round < 300; ++round) {
    Query query;
    query.filter = bson::json("{" + random_filter(random) + "}");
    query.count_only = true;
    TestServer::Operation operation(world.server());
    Reader reader(operation.op, world.server().collection("c"), "test.c", query);
    size_t count = 0;
    while (reader.next()) ++count;
    INFO(bson::to_json(query.filter) << " by " << reader.executor().summary());
    CHECK(count == world.brute_force(query).size());
  }
}

TEST_CASE("a hinted index answers like any other") {
  Random random(11);
  World world(random, true);
  for (int round = 0; round < 200; ++round) {
    Query query;
    query.filter = bson::json("{" + random_filter(random) + "}");
    static const char* const names[] = {"a", "ab", "de", "da"};
    query.hint = bson::Value(names[random.below(4)]);
    INFO(bson::to_json(query.filter));
    auto found = world.run(query).ids;
    std::sort(found.begin(), found.end());
    CHECK(found == world.brute_force(query));
  }
}

std::string winning_stage(TestServer& server, const std::string& find) {
  const auto reply = server.run("{explain: " + find + ", verbosity: 'queryPlanner'}");
  INFO(bson::to_json(reply));
  REQUIRE(reply["ok"].to_double() == 1);
  std::string stages;
  bson::DocumentView stage = reply["queryPlanner"].as_document()["winningPlan"].as_document();
  for (;;) {
    stages += stage["stage"].as_string();
    if (stage.has("indexName")) stages += ":" + std::string(stage["indexName"].as_string());
    if (!stage["inputStage"].is_object()) return stages;
    stages += " ";
    stage = stage["inputStage"].as_document();
  }
}

TEST_CASE("the planner takes the index that serves the query") {
  TestServer server;
  for (int i = 0; i < 300; ++i) {
    server.insert("c", bson::json("{_id: " + std::to_string(i) + ", a: " + std::to_string(i % 3) + ", b: " + std::to_string(i) +
                                  ", s: 'x" + std::to_string(i) + "'}"));
  }
  CHECK(winning_stage(server, "{find: 'c', filter: {_id: 5}}") == "IDHACK");
  CHECK(winning_stage(server, "{find: 'c', filter: {b: 5}}") == "COLLSCAN");
  CHECK(winning_stage(server, "{find: 'nothing', filter: {b: 5}}") == "EOF");
  server.create_index("c", "b_1", "{key: {b: 1}}");
  server.create_index("c", "a_1", "{key: {a: 1}}");
  server.create_index("c", "a_1_b_-1", "{key: {a: 1, b: -1}}");
  server.create_index("c", "s_1", "{key: {s: 1}}");
  CHECK(winning_stage(server, "{find: 'c', filter: {b: 5}}") == "FETCH IXSCAN:b_1");
  CHECK(winning_stage(server, "{find: 'c', filter: {a: 1, b: {$gt: 5}}, sort: {b: -1}}") == "FETCH IXSCAN:a_1_b_-1");
  CHECK(winning_stage(server, "{find: 'c', filter: {a: 1}}") == "FETCH IXSCAN:a_1");
  CHECK(winning_stage(server, "{find: 'c', sort: {b: -1}}") == "FETCH IXSCAN:b_1");
  CHECK(winning_stage(server, "{find: 'c', sort: {b: 1, a: 1}}") == "SORT COLLSCAN");
  CHECK(winning_stage(server, "{find: 'c', filter: {s: {$regex: '^x1'}}}") == "FETCH IXSCAN:s_1");
  CHECK(winning_stage(server, "{find: 'c', filter: {b: 5}, hint: {$natural: -1}}") == "COLLSCAN");
  CHECK(winning_stage(server, "{find: 'c', filter: {b: 5}, hint: 'a_1'}") == "FETCH IXSCAN:a_1");
  CHECK(winning_stage(server, "{count: 'c', query: {b: {$gt: 5}}}") == "COUNT COUNT_SCAN:b_1");
  CHECK(winning_stage(server, "{find: 'c', filter: {b: 5}, projection: {a: 1}, limit: 1, skip: 1}") ==
        "PROJECTION_SIMPLE LIMIT SKIP FETCH IXSCAN:b_1");
}

TEST_CASE("a selective index wins the race against one that isn't") {
  TestServer server;
  for (int i = 0; i < 500; ++i) {
    server.insert("c", bson::json("{_id: " + std::to_string(i) + ", wide: " + std::to_string(i % 2) +
                                  ", narrow: " + std::to_string(i / 2) + "}"));
  }
  server.create_index("c", "wide_1", "{key: {wide: 1}}");
  server.create_index("c", "narrow_1", "{key: {narrow: 1}}");
  CHECK(winning_stage(server, "{find: 'c', filter: {wide: 1, narrow: 77}}") == "FETCH IXSCAN:narrow_1");
}

TEST_CASE("a sort beyond its memory goes to disk, or is refused") {
  TestServer server;
  const std::string text(1 << 20, 'x');
  auto collection = server.collection("c");
  for (int i = 0; i < 110; ++i) {
    bson::Builder document;
    document.append("_id", i).append("n", (i * 37) % 110).append("text", text);
    server.insert("c", document.done());
  }
  const auto refused = server.run("{find: 'c', sort: {n: 1}, allowDiskUse: false, projection: {n: 1}}");
  CHECK(refused["code"].to_int64() == 292);
  const auto sorted = server.run("{find: 'c', sort: {n: 1}, projection: {n: 1}, batchSize: 200}");
  REQUIRE(sorted["ok"].to_double() == 1);
  int expected = 0;
  for (const bson::Element& document : sorted["cursor"].as_document()["firstBatch"].as_document()) {
    CHECK(document.as_document()["n"].as_int32() == expected++);
  }
  CHECK(expected == 110);
  const auto few = server.run("{find: 'c', sort: {n: -1}, limit: 3, allowDiskUse: false, projection: {n: 1}}");
  CHECK(few["ok"].to_double() == 1);
}

TEST_CASE("a long scan goes on through writes to what it reads") {
  TestServer server;
  for (int i = 0; i < 1000; ++i) server.insert("c", bson::json("{_id: " + std::to_string(i) + ", a: " + std::to_string(i) + "}"));
  server.create_index("c", "a_1", "{key: {a: 1}}");
  auto collection = server.collection("c");
  for (const char* filter : {"{}", "{a: {$gte: 0}}"}) {
    INFO(filter);
    TestServer::Operation operation(server);
    Query query;
    query.filter = bson::json(filter);
    Reader reader(operation.op, collection, "test.c", query);
    std::vector<int> seen;
    while (reader.next()) {
      seen.push_back(reader.document()["_id"].as_int32());
      if (seen.size() % 100 != 50) continue;
      // The document right ahead is removed while the reader rests.
      reader.end();
      const int victim = seen.back() + 1;
      storage::in_transaction(server.store(), [&](storage::Transaction& transaction) {
        const bson::Document id = bson::json("{_id: " + std::to_string(victim) + "}");
        const auto record = collection->find_id(transaction, id["_id"]);
        if (record) collection->remove(transaction, *record, *collection->find(transaction, *record));
      });
      reader.begin(operation.op);
    }
    CHECK(std::is_sorted(seen.begin(), seen.end()));
    CHECK(seen.size() >= 970);
    CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
  }
}

}  // namespace
}  // namespace server::query
