#include "server/query/plan/plan_cache.h"

#include <catch2/catch.hpp>

#include "bson/json.h"
#include "server/query/reader.h"
#include "server/query/test_support.h"

namespace server::query {
namespace {

CachedPlan winner(const std::string& plan, int64_t works) {
  CachedPlan found;
  found.plan = plan;
  found.works = works;
  return found;
}

PlanCacheKey key(const std::string& shape, uint32_t collection = 1) {
  return {collection, shape};
}

TEST_CASE("a plan becomes active when a second race needs no more works") {
  PlanCache cache;
  CHECK(cache.find(key("s"), "i") == nullptr);
  cache.add_race(key("s"), "i", winner("a", 40));
  REQUIRE(cache.find(key("s"), "i"));
  CHECK_FALSE(cache.find(key("s"), "i")->active);
  cache.add_race(key("s"), "i", winner("b", 100));
  CHECK_FALSE(cache.find(key("s"), "i")->active);
  CHECK(cache.find(key("s"), "i")->works == 80);
  CHECK(cache.find(key("s"), "i")->plan == "a");
  cache.add_race(key("s"), "i", winner("b", 70));
  CHECK(cache.find(key("s"), "i")->active);
  CHECK(cache.find(key("s"), "i")->plan == "b");
  CHECK(cache.find(key("s"), "i")->works == 70);
}

TEST_CASE("an active plan gives way to one that needs less, and to none that needs more") {
  PlanCache cache;
  cache.add_race(key("s"), "i", winner("a", 40));
  cache.add_race(key("s"), "i", winner("a", 40));
  REQUIRE(cache.find(key("s"), "i")->active);
  cache.add_race(key("s"), "i", winner("b", 90));
  CHECK(cache.find(key("s"), "i")->plan == "a");
  cache.add_race(key("s"), "i", winner("b", 10));
  CHECK(cache.find(key("s"), "i")->plan == "b");
  CHECK(cache.find(key("s"), "i")->active);
  cache.deactivate(key("s"));
  CHECK_FALSE(cache.find(key("s"), "i")->active);
}

TEST_CASE("a plan chosen among other indexes is forgotten") {
  PlanCache cache;
  cache.add_race(key("s"), "i", winner("a", 40));
  CHECK(cache.list(1, "j").empty());
  CHECK(cache.list(1, "i").size() == 1);
  CHECK(cache.find(key("s"), "j") == nullptr);
  CHECK(cache.find(key("s"), "i") == nullptr);
  CHECK(cache.bytes() == 0);
}

TEST_CASE("plans are forgotten by collection and by shape") {
  PlanCache cache;
  for (uint32_t collection = 1; collection < 4; ++collection) {
    for (const char* shape : {"s", "t"}) cache.add_race(key(shape, collection), "i", winner("a", 1));
  }
  cache.clear(2);
  CHECK(cache.list(2, "i").empty());
  CHECK(cache.list(1, "i").size() == 2);
  cache.clear(key("t", 3));
  CHECK(cache.list(3, "i").size() == 1);
  CHECK(cache.find(key("s", 3), "i"));
}

TEST_CASE("the cache has a size, and the plans that were used last stay") {
  PlanCache cache;
  cache.add_race(key("first"), "i", winner("a", 1));
  const std::string filter = "{a: '" + std::string(10'000, 'x') + "'}";
  for (int i = 0; i < 5000; ++i) {
    CachedPlan plan = winner("a", 1);
    plan.filter = bson::json(filter);
    cache.add_race(key("s" + std::to_string(i)), "i", std::move(plan));
    REQUIRE(cache.find(key("first"), "i"));
    REQUIRE(cache.bytes() <= PlanCache::bytes_max);
  }
  CHECK(cache.find(key("s0"), "i") == nullptr);
  CHECK(cache.find(key("s4999"), "i"));
  const size_t count = cache.list(1, "i").size();
  CHECK(count > 1000);
  CHECK(count < 2000);
}

TEST_CASE("a plan that is too large isn't kept, and one before it goes") {
  PlanCache cache;
  cache.add_race(key("s"), "i", winner("a", 2));
  CachedPlan large = winner("b", 1);
  large.filter = bson::json("{a: '" + std::string(PlanCache::bytes_max / 8, 'x') + "'}");
  cache.add_race(key("s"), "i", std::move(large));
  CHECK(cache.find(key("s"), "i") == nullptr);
  CHECK(cache.bytes() == 0);
}

// A thousand documents have a: 1, of which one has b: 9; a thousand have b: 2, of which one has a: 9.
class TwoIndexes {
 public:
  TwoIndexes() {
    for (int i = 0; i < 2000; ++i) {
      const bool first = i < 1000;
      server.insert(
          "c", bson::json("{_id: " + std::to_string(i) + ", a: " + (first ? "1" : "5") + ", b: " + (first ? "6" : "2") + "}"));
    }
    server.insert("c", "{_id: 'x', a: 1, b: 9}");
    server.insert("c", "{_id: 'y', a: 9, b: 2}");
    server.create_index("c", "a", "{key: {a: 1}}");
    server.create_index("c", "b", "{key: {b: 1}}");
  }

  // Returns the documents that the query looks at.
  int64_t examined(const std::string& filter, size_t expected) {
    TestServer::Operation operation(server);
    Query query;
    query.filter = bson::json(filter);
    Reader reader(operation.op, server.collection("c"), "test.c", query);
    size_t found = 0;
    while (reader.next()) ++found;
    CHECK(found == expected);
    replanned = reader.executor().replanned();
    raced = reader.executor().raced();
    summary = reader.executor().summary();
    return reader.executor().stats().docs_examined;
  }

  TestServer server;
  bool replanned = false, raced = false;
  std::string summary;
};

TEST_CASE("a plan of the cache that finds nothing in time is given up while it runs") {
  TwoIndexes data;
  for (int i = 0; i < 2; ++i) {
    CHECK(data.examined("{a: 1, b: 9}", 1) <= 2);
    CHECK(data.raced);
  }
  CHECK(data.examined("{a: 1, b: 9}", 1) == 1);
  CHECK_FALSE(data.raced);
  CHECK(data.summary == "IXSCAN { b: 1 }");
  // A thousand documents have b: 2, and one of them has a: 9.
  CHECK(data.examined("{a: 9, b: 2}", 1) == 1);
  CHECK(data.replanned);
  CHECK(data.summary == "IXSCAN { a: 1 }");
}

TEST_CASE("a cleared cache has plans tried again") {
  TwoIndexes data;
  for (int i = 0; i < 3; ++i) data.examined("{a: 1, b: 9}", 1);
  CHECK_FALSE(data.raced);
  data.server.services().plan_cache.clear(data.server.collection("c")->id());
  data.examined("{a: 1, b: 9}", 1);
  CHECK(data.raced);
}

}  // namespace
}  // namespace server::query
