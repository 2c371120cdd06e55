// Lists are counted while they are made, and as long as a cursor keeps them.
#include "server/commands/shared/list_cursor.h"

#include <catch2/catch.hpp>

#include "bson/json.h"
#include "server/commands/test_server.h"
#include "server/core/services.h"

namespace server {
namespace {

using bson::json;

constexpr size_t mb = 1 << 20;
constexpr int count = 8;
constexpr int exceeded_memory_limit = 146;

// The database has lists of 4 MB: of collections, indexes, views and stashes.
struct Fixture {
  Fixture() {
    const std::string text(mb / 2, 'x');
    const auto done = [&](const std::string& db, const std::string& command) {
      REQUIRE(server.run(db, json(command))["ok"].truthy());
    };
    for (int i = 0; i < count; ++i) {
      const std::string number = std::to_string(i);
      done("collections", "{create: 'c" + number + "', validator: {a: '" + text + "'}}");
      done("views", "{create: 'v" + number + "', viewOn: 'c', pipeline: [{$match: {a: '" + text + "'}}]}");
      done("indexes", "{createIndexes: 'c', indexes: [{key: {k" + number + ": 1}, name: 'k" + number +
                          "', partialFilterExpression: {a: '" + text + "'}}]}");
    }
    done("stashes", "{create: 'c'}");
    done("stashes", "{commit: 1}");
    for (int i = 0; i < count; ++i) {
      done("stashes", "{insert: 'c', documents: [{_id: 1}]}");
      done("stashes", "{stash: 1, message: '" + text + "'}");
    }
  }
  void limit(size_t bytes) { memory.limits().operation_bytes_max = static_cast<int64_t>(bytes); }

  TestServer server;
  MemoryPool& memory = server.services().memory;
};

TEST_CASE_METHOD(Fixture, "a list ends at the memory limit of an operation, and counts until its cursor has returned it") {
  const std::pair<const char*, const char*> lists[] = {{"collections", "listCollections: 1"},
                                                       {"views", "listCollections: 1"},
                                                       {"indexes", "listIndexes: 'c'"},
                                                       {"stashes", "listStashes: 1"}};
  for (const auto& [db, list] : lists) {
    INFO(db);
    // One document fits, and so does a batch with it alone.
    const bson::Document command = json(std::string("{") + list + ", cursor: {batchSize: 1}}");
    limit(2 * mb);
    CHECK(server.run(db, command)["code"].to_int64() == exceeded_memory_limit);
    CHECK(memory.used() == 0);

    limit(64 * mb);
    const bson::Document first = server.run(db, command);
    REQUIRE(first["ok"].truthy());
    CHECK(memory.used() >= (count - 1) * mb / 2);
    const bson::DocumentView cursor = first["cursor"].as_document();
    bson::Builder more;
    more.append("getMore", cursor["id"].to_int64());
    const std::string_view ns = cursor["ns"].as_string();
    more.append("collection", ns.substr(ns.find('.') + 1));
    const bson::Document rest = server.run(db, more.done());
    REQUIRE(rest["ok"].truthy());
    CHECK(rest["cursor"].as_document()["nextBatch"].as_document().count() >= count - 1);
    CHECK(rest["cursor"].as_document()["id"].to_int64() == 0);
    CHECK(memory.used() == 0);
  }
}

TEST_CASE("a batch that ends a list leaves no cursor") {
  TestServer server;
  for (const char* name : {"a", "b", "c"})
    REQUIRE(server.run("db", json(std::string("{create: '") + name + "'}"))["ok"].truthy());
  const auto id = [&](int batch) {
    const bson::Document reply =
        server.run("db", json("{listCollections: 1, cursor: {batchSize: " + std::to_string(batch) + "}}"));
    return reply["cursor"].as_document()["id"].to_int64();
  };
  CHECK(id(2) != 0);
  CHECK(id(3) == 0);
  CHECK(id(4) == 0);
}

}  // namespace
}  // namespace server
