// These tests run reIndex.
#include <catch2/catch.hpp>

#include "base/random.h"
#include "bson/json.h"
#include "server/commands/test_server.h"
#include "server/core/services.h"
#include "storage/store.h"

namespace server {
namespace {

using bson::json;

TEST_CASE("reIndex builds every index anew") {
  TestServer server;
  server.run(
      json("{createIndexes: 'c', indexes: [{key: {a: 1}, name: 'a_1'}, {key: {b: -1}, name: 'b_-1', unique: true, sparse: true},"
           " {key: {a: 1, b: 1}, name: 'some', partialFilterExpression: {a: {$gt: 3}}}]}"));
  for (int i = 0; i < 300; ++i) {
    server.run(json("{insert: 'c', documents: [{_id: " + std::to_string(i) + ", a: [" + std::to_string(i % 7) + ", " +
                    std::to_string(i % 3) + "], b: " + std::to_string(i) + "}]}"));
  }
  server.expect("{reIndex: 'c'}",
                "{nIndexesWas: 4, nIndexes: 4, indexes: [{v: 2, key: {_id: 1}, name: '_id_'}, {name: 'a_1', key: {a: 1}}, {name: "
                "'b_-1', unique: true, sparse: true},"
                " {name: 'some', partialFilterExpression: {a: {$gt: 3}}}], ok: 1.0}");
  server.expect("{validate: 'c', full: true}",
                "{valid: true, nrecords: 300, nIndexes: 4, keysPerIndex: {_id_: 300, 'b_-1': 300}}");
  server.expect("{count: 'c', query: {a: 6}, hint: 'a_1'}", "{n: 42}");
  server.expect("{count: 'c', query: {_id: 7}}", "{n: 1}");
  // The new indexes work: keys are unique, arrays are known, one may be dropped.
  server.expect("{insert: 'c', documents: [{_id: 1000, b: 5}]}", "{writeErrors: [{code: 11000}]}");
  server.expect("{insert: 'c', documents: [{_id: 5}]}", "{writeErrors: [{code: 11000}]}");
  server.expect("{explain: {find: 'c', filter: {a: 6}, hint: 'a_1'}}",
                "{queryPlanner: {winningPlan: {inputStage: {isMultiKey: true}}}}");
  server.expect("{dropIndexes: 'c', index: 'a_1'}", "{nIndexesWas: 4, ok: 1.0}");
  server.expect("{reIndex: 'c'}", "{nIndexesWas: 3, nIndexes: 3, ok: 1.0}");
  server.expect("{validate: 'c', full: true}", "{valid: true, nIndexes: 3}");
}

TEST_CASE("rebuilt indexes are there after a restart") {
  storage::TemporaryDirectory copy;
  {
    TestServer server;
    server.run(json("{createIndexes: 'c', indexes: [{key: {a: 1}, name: 'a_1'}]}"));
    for (int i = 0; i < 50; ++i)
      server.run(json("{insert: 'c', documents: [{_id: " + std::to_string(i) + ", a: [" + std::to_string(i) + "]}]}"));
    server.expect("{reIndex: 'c'}", "{ok: 1.0}");
    server.expect("{insert: 'c', documents: [{_id: 50, a: 50}], writeConcern: {j: true}}", "{n: 1}");
    server.services().store->engine().wait_durable();
    server.directory().copy_to(copy);
  }
  TestServer again(copy.path());
  again.expect("{validate: 'c', full: true}", "{valid: true, nrecords: 51, nIndexes: 2}");
  again.expect("{count: 'c', query: {a: 50}, hint: 'a_1'}", "{n: 1}");
  again.expect("{insert: 'c', documents: [{_id: 50}]}", "{writeErrors: [{code: 11000}]}");
}

TEST_CASE("reIndex refuses what it can't rebuild") {
  TestServer server;
  server.expect("{reIndex: 'none'}", "{ok: 0.0, code: 26, codeName: 'NamespaceNotFound', errmsg: 'collection does not exist'}");
  server.expect("{reIndex: 1}", "{ok: 0.0, code: 73}");
  server.expect("{reIndex: ''}", "{ok: 0.0, code: 73}");
  server.expect("local", "{reIndex: 'oplog.rs'}", "{ok: 0.0, code: 73}");
  server.run(json("{insert: 'c', documents: [{_id: 1, a: 1}]}"));
  server.run(json("{createIndexes: 'c', indexes: [{key: {a: 1}, name: 'a_1'}]}"));
  server.expect("{createSnapshot: 'before'}", "{ok: 1.0}");
  server.expect("{reIndex: 'c'}", "{ok: 0.0, code: 20, errmsg: \"indexes can't be rebuilt while there are declared snapshots\"}");
  server.expect("test@before", "{reIndex: 'c'}", "{ok: 0.0, code: 20}");
  server.expect("{validate: 'c', full: true}", "{valid: true, nIndexes: 2}");
  server.expect("{dropSnapshot: 'before'}", "{ok: 1.0}");
  server.expect("{createBranch: 'dev'}", "{ok: 1.0}");
  for (const char* db : {"test", "test@dev"}) {
    server.expect(db, "{reIndex: 'c'}",
                  "{ok: 0.0, code: 20, errmsg: \"rebuilding indexes isn't supported in a database that has branches: test\"}");
  }
  server.expect("{validate: 'c', full: true}", "{valid: true, nIndexes: 2}");
}

}  // namespace
}  // namespace server
