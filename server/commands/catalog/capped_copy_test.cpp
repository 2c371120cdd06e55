// These tests run convertToCapped and cloneCollectionAsCapped.
#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

#include "bson/json.h"
#include "server/commands/test_server.h"

namespace server {
namespace {

using bson::json;

void fill(TestServer& server, const std::string& collection, int count, int bytes = 100) {
  for (int i = 0; i < count; ++i) {
    server.run(json("{insert: '" + collection + "', documents: [{_id: " + std::to_string(i) + ", text: '" +
                    std::string(static_cast<size_t>(bytes), 'x') + "'}]}"));
  }
}

std::string options_of(TestServer& server, const std::string& collection) {
  const auto reply = server.run(json("{listCollections: 1, filter: {name: '" + collection + "'}}"));
  const auto batch = reply["cursor"].as_document()["firstBatch"].as_document();
  return batch.empty() ? "none" : bson::to_shell(batch.first().as_document()["options"].as_document());
}

int64_t count_of(TestServer& server, const std::string& collection) {
  return server.run(json("{count: '" + collection + "'}"))["n"].to_int64();
}

TEST_CASE("convertToCapped keeps what fits, the newest, and its options") {
  TestServer server;
  fill(server, "c", 100);
  server.run(json("{createIndexes: 'c', indexes: [{key: {text: 1}, name: 'text_1'}]}"));
  server.expect("{convertToCapped: 'c', size: 5000}", "{ok: 1.0}");
  CHECK(options_of(server, "c") == "{ capped: true, size: 5120 }");
  const int64_t left = count_of(server, "c");
  CHECK(left > 30);
  CHECK(left < 50);
  // The documents are there, in the order of their insertion.
  const auto reply = server.run(json("{find: 'c', projection: {_id: 1}, batchSize: 1000}"));
  int64_t expected = 100 - left;
  for (const auto& document : reply["cursor"].as_document()["firstBatch"].as_document())
    CHECK(document.as_document()["_id"].to_int64() == expected++);
  CHECK(expected == 100);
  server.expect("{listIndexes: 'c'}", "{cursor: {firstBatch: [{name: '_id_'}]}}");
  server.expect("{validate: 'c', full: true}", "{valid: true, nrecords: " + std::to_string(left) + "}");
  // It is capped from now on, and no temporary collection is left.
  fill(server, "d", 0);
  for (int i = 100; i < 200; ++i)
    server.run(json("{insert: 'c', documents: [{_id: " + std::to_string(i) + ", text: '" + std::string(100, 'y') + "'}]}"));
  CHECK(count_of(server, "c") <= left + 1);
  server.expect("{listCollections: 1, nameOnly: true}", "{cursor: {firstBatch: [{name: 'c'}]}}");
}

TEST_CASE("convertToCapped changes the size of what is capped already, and keeps its number") {
  TestServer server;
  server.run(json("{create: 'c', capped: true, size: 100000, max: 20}"));
  fill(server, "c", 30);
  server.expect("{convertToCapped: 'c', size: 4096}", "{ok: 1.0}");
  CHECK(options_of(server, "c") == "{ capped: true, size: 4096, max: 20 }");
  CHECK(count_of(server, "c") == 20);
  server.expect("{convertToCapped: 'c', size: 1}", "{ok: 1.0}");
  CHECK(options_of(server, "c") == "{ capped: true, size: 4096, max: 20 }");
}

TEST_CASE("cloneCollectionAsCapped leaves the source as it is") {
  TestServer server;
  fill(server, "c", 10);
  server.expect("{cloneCollectionAsCapped: 'c', toCollection: 'd', size: 1000000}", "{ok: 1.0}");
  CHECK(options_of(server, "c") == "{}");
  CHECK(options_of(server, "d") == "{ capped: true, size: 1000192 }");
  CHECK(server.documents("{find: 'd'}") == server.documents("{find: 'c'}"));
  server.expect("{cloneCollectionAsCapped: 'c', toCollection: 'd', size: 4096}",
                "{ok: 0.0, code: 48, errmsg: 'cloneCollectionAsCapped failed - destination collection test.d already exists. "
                "source collection: test.c'}");
  CHECK(count_of(server, "d") == 10);
}

TEST_CASE("a collection that can't become capped is refused, and stays as it was") {
  TestServer server;
  server.expect("{convertToCapped: 'c', size: 4096}", "{ok: 0.0, code: 26, errmsg: 'database test not found'}");
  server.expect("{cloneCollectionAsCapped: 'c', toCollection: 'd', size: 4096}",
                "{ok: 0.0, code: 26, errmsg: 'database test not found'}");
  fill(server, "other", 1);
  server.expect("{convertToCapped: 'c', size: 4096}", "{ok: 0.0, code: 26, errmsg: 'source collection test.c does not exist'}");
  server.expect("{cloneCollectionAsCapped: 'c', toCollection: 'd', size: 4096}",
                "{ok: 0.0, code: 26, errmsg: 'source collection test.c does not exist'}");
  for (const char* size : {"", ", size: 0", ", size: -1", ", size: 'x'", ", size: null", ", size: NaN", ", size: 0.5"}) {
    INFO(size);
    server.expect(std::string("{convertToCapped: 'other'") + size + "}",
                  "{ok: 0.0, code: 72, codeName: 'InvalidOptions', errmsg: 'Capped collection size must be greater than zero'}");
    server.expect(std::string("{cloneCollectionAsCapped: 'other', toCollection: 'd'") + size + "}", "{ok: 0.0, code: 72}");
  }
  for (const char* size : {"NumberLong('9223372036854775807')", "Infinity", "1e300"}) {
    server.expect(std::string("{convertToCapped: 'other', size: ") + size + "}",
                  "{ok: 0.0, code: 2, errmsg: 'size cannot exceed 1 PB'}");
  }
  server.expect("{convertToCapped: 1, size: 4096}", "{ok: 0.0, code: 73}");
  server.expect("{convertToCapped: 'system.x', size: 4096}", "{ok: 0.0, code: 73}");
  server.expect("local", "{convertToCapped: 'oplog.rs', size: 4096}", "{ok: 0.0, code: 73}");
  server.expect("{cloneCollectionAsCapped: 1, toCollection: 'd', size: 4096}",
                "{ok: 0.0, code: 14, errmsg: \"'cloneCollectionAsCapped' must be of type String\"}");
  server.expect("{cloneCollectionAsCapped: 'other', size: 4096}",
                "{ok: 0.0, code: 14, errmsg: \"'toCollection' must be of type String\"}");
  server.expect("{cloneCollectionAsCapped: '', toCollection: 'd', size: 4096}",
                "{ok: 0.0, code: 73, errmsg: 'Invalid source collection name: '}");
  server.expect("{cloneCollectionAsCapped: 'other', toCollection: '$d', size: 4096}",
                "{ok: 0.0, code: 73, errmsg: 'Invalid target collection name: $d'}");
  server.expect("{cloneCollectionAsCapped: 'other', toCollection: 'other', size: 4096}", "{ok: 0.0, code: 48}");
  server.expect("{listCollections: 1, nameOnly: true}", "{cursor: {firstBatch: [{name: 'other', type: 'collection'}]}}");
  CHECK(options_of(server, "other") == "{}");
}

TEST_CASE("a branch or a snapshot can't become capped, a capped collection beside them can be another size") {
  TestServer server;
  fill(server, "c", 3);
  server.run(json("{create: 'log', capped: true, size: 8192}"));
  server.expect("{createSnapshot: 'before'}", "{ok: 1.0}");
  server.expect("{createBranch: 'dev'}", "{ok: 1.0}");
  for (const char* db : {"test", "test@dev", "test@before"}) {
    INFO(db);
    server.expect(db, "{convertToCapped: 'c', size: 4096}", "{ok: 0.0, code: 20}");
  }
  server.expect("test@dev", "{cloneCollectionAsCapped: 'c', toCollection: 'd', size: 4096}",
                "{ok: 0.0, code: 20, errmsg: \"a capped collection has no branches, so there can't be test@dev.d\"}");
  server.expect("test@before", "{cloneCollectionAsCapped: 'c', toCollection: 'd', size: 4096}", "{ok: 0.0, code: 20}");
  server.expect("{convertToCapped: 'log', size: 16384}", "{ok: 1.0}");
  CHECK(options_of(server, "log") == "{ capped: true, size: 16384 }");
  server.expect("{cloneCollectionAsCapped: 'c', toCollection: 'd', size: 4096}", "{ok: 1.0}");
  CHECK(count_of(server, "d") == 3);
  CHECK(count_of(server, "c") == 3);
}

TEST_CASE("a snapshot shows a collection as it was before it became capped") {
  TestServer server;
  fill(server, "c", 100);
  server.run(json("{createIndexes: 'c', indexes: [{key: {text: 1}, name: 'text_1'}]}"));
  server.expect("{createSnapshot: 'before'}", "{ok: 1.0}");
  server.expect("{convertToCapped: 'c', size: 4096}", "{ok: 1.0}");
  server.expect("test@before", "{count: 'c'}", "{n: 100}");
  server.expect("test@before", "{listIndexes: 'c'}", "{cursor: {firstBatch: [{name: '_id_'}, {name: 'text_1'}]}}");
  CHECK(count_of(server, "c") < 50);
}

TEST_CASE("no write is lost while a collection becomes capped") {
  TestServer server;
  server.run(json("{create: 'c'}"));
  std::atomic<bool> done{false};
  std::atomic<int> acknowledged{0};
  std::thread writer([&] {
    for (int i = 0; !done; ++i) {
      const auto reply = server.run(json("{insert: 'c', documents: [{_id: " + std::to_string(i) + "}]}"));
      if (reply["n"].to_int64() == 1) ++acknowledged;
    }
  });
  for (int i = 0; i < 20; ++i) server.expect("{convertToCapped: 'c', size: 100000000}", "{ok: 1.0}");
  done = true;
  writer.join();
  CHECK(count_of(server, "c") == acknowledged);
  server.expect("{validate: 'c', full: true}", "{valid: true}");
}

TEST_CASE("the log says how a collection became capped") {
  TestServer server;
  fill(server, "c", 3, 1);
  server.expect("{convertToCapped: 'c', size: 4096}", "{ok: 1.0}");
  const auto reply = server.run("local", json("{find: 'oplog.rs', filter: {'o.create': /^tmp/}}"));
  const auto made = reply["cursor"].as_document()["firstBatch"].as_document();
  REQUIRE(made.count() == 1);
  const std::string temporary(made.first().as_document()["o"].as_document()["create"].as_string());
  server.expect("local", "{find: 'oplog.rs', filter: {ns: 'test." + temporary + "', op: 'i'}, projection: {_id: 0, 'o._id': 1}}",
                "{cursor: {firstBatch: [{o: {_id: 0}}, {o: {_id: 1}}, {o: {_id: 2}}]}}");
  server.expect("local", "{find: 'oplog.rs', filter: {'o.renameCollection': 'test." + temporary + "'}}",
                "{cursor: {firstBatch: [{o: {to: 'test.c'}}]}}");
}

}  // namespace
}  // namespace server
