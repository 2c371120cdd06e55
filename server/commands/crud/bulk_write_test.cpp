// These tests run bulkWrite through dispatch.
#include <catch2/catch.hpp>

#include <map>

#include "base/random.h"
#include "base/testing.h"
#include "bson/json.h"
#include "server/commands/test_server.h"
#include "server/core/memory.h"
#include "server/core/metrics.h"
#include "server/core/services.h"

namespace server {
namespace {

using bson::json;

void expect(TestServer& server, const std::string& fields, const std::string& reply) {
  server.expect("admin", "{bulkWrite: 1, " + fields + "}", reply);
}

void refuses(TestServer& server, const std::string& fields, int code, const std::string& message) {
  INFO(fields);
  const auto reply = server.run("admin", json("{bulkWrite: 1, " + fields + "}"));
  CHECK(reply["ok"].as_double() == 0);
  REQUIRE(reply["code"].exists());
  CHECK(reply["code"].as_int32() == code);
  CHECK(std::string(reply["errmsg"].as_string()) == message);
}

const std::string two = "nsInfo: [{ns: 'test.c'}, {ns: 'other.d'}]";

TEST_CASE("bulkWrite inserts, updates and deletes in several databases, in order") {
  TestServer server;
  expect(server,
         "ops: [{insert: 0, document: {_id: 1, a: 1}}, {insert: 0, document: {_id: 2, a: 1}}, {insert: 1, document: {_id: 7}},"
         " {update: 0, filter: {a: 1}, updateMods: {$inc: {a: 1}}, multi: true}, {update: 0, filter: {_id: 1}, updateMods: "
         "{$set: {a: 2}}},"
         " {update: 1, filter: {_id: 8}, updateMods: {b: 3}, upsert: true}, {update: 0, filter: {_id: 9}, updateMods: [{$set: "
         "{a: 1}}]},"
         " {delete: 0, filter: {_id: 1}}, {delete: 1, filter: {}, multi: true}], " +
             two,
         "{cursor: {firstBatch: [{ok: 1.0, idx: 0, n: 1}, {ok: 1.0, idx: 1, n: 1}, {ok: 1.0, idx: 2, n: 1},"
         " {ok: 1.0, idx: 3, n: 2, nModified: 2}, {ok: 1.0, idx: 4, n: 1, nModified: 0},"
         " {ok: 1.0, idx: 5, n: 1, nModified: 0, upserted: {_id: 8}}, {ok: 1.0, idx: 6, n: 0, nModified: 0},"
         " {ok: 1.0, idx: 7, n: 1}, {ok: 1.0, idx: 8, n: 2}], ns: 'admin.$cmd.bulkWrite'},"
         " nErrors: 0, nInserted: 3, nMatched: 3, nModified: 2, nUpserted: 1, nDeleted: 3, ok: 1.0}");
  CHECK(server.documents("{find: 'c'}") == "[{_id: 2, a: 2}]");
  server.expect("other", "{count: 'd'}", "{n: 0}");
}

TEST_CASE("a bulkWrite's results have details of its first errors alone") {
  TestServer server;
  const std::string description(10'000, 'd');
  server.expect("test", "{create: 'c', validator: {$jsonSchema: {required: ['x'], description: '" + description + "'}}}",
                "{ok: 1.0}");
  server.expect("other", "{create: 'd', validator: {$jsonSchema: {required: ['x'], description: '" + description + "'}}}",
                "{ok: 1.0}");
  constexpr int count = 4000;
  std::string inserts, others;
  for (int i = 0; i < count; ++i) {
    inserts += ", {insert: 0, document: {_id: " + std::to_string(i) + "}}";
    others +=
        ", {update: " + std::to_string(i % 2) + ", filter: {_id: " + std::to_string(i) + "}, updateMods: {a: 1}, upsert: true}";
  }
  for (const std::string& ops : {inserts, others}) {
    const auto reply = server.run("admin", json("{bulkWrite: 1, ordered: false, ops: [" + ops.substr(2) + "], " + two + "}"));
    CHECK(reply["ok"].as_double() == 1);
    CHECK(reply["nErrors"].as_int32() == count);
    const auto cursor = reply["cursor"].as_document();
    CHECK(cursor["id"].to_int64() == 0);  // all are in the first batch
    int index = 0;
    for (const auto& result : cursor["firstBatch"].as_document()) {
      CHECK(result.as_document()["idx"].as_int32() == index++);
      CHECK(result.as_document()["code"].as_int32() == 121);
    }
    CHECK(index == count);
    CHECK(reply.size() < 2 << 20);
  }
}

TEST_CASE("a bulkWrite ends when there is no memory for its results") {
  TestServer server;
  constexpr int count = 40;
  std::string upserts;
  for (int i = 0; i < count; ++i) {
    upserts += ", {update: 0, filter: {_id: '" + std::to_string(i) + std::string(100'000, 'x') +
               "'}, updateMods: {$set: {a: 1}}, upsert: true}";
  }
  server.services().memory.limits().operation_bytes_max = 2 << 20;
  const auto reply = server.run(
      "admin", json("{bulkWrite: 1, ordered: false, ops: [" + upserts.substr(2) + "], cursor: {batchSize: 1}, " + two + "}"));
  REQUIRE(reply["ok"].as_double() == 1);
  CHECK(reply["nErrors"].as_int32() == 1);
  const int upserted = reply["nUpserted"].as_int32();
  CHECK(upserted > 1);
  CHECK(upserted < count);
  server.expect("test", "{count: 'c'}", "{n: " + std::to_string(upserted) + "}");
}

bson::Document run_numbered(TestServer& server, const std::string& fields, int64_t number) {
  bson::Builder command;
  command.append("bulkWrite", 1).append_all(json("{" + fields + "}"));
  command.object("lsid").append("id", bson::Binary{4, bson::Bytes(16, 's')});
  command.append("txnNumber", number);
  return server.run("admin", command.done());
}

TEST_CASE("a retryable bulkWrite into a database without a log leaves its session's history whole") {
  TestServer server{TestServer::SetOfOne{}};
  const std::string fields =
      "ops: [{insert: 0, document: {_id: 1}}, {insert: 1, document: {_id: 2}}, {update: 1, filter: {_id: 2}, updateMods: {$set: "
      "{a: 1}}}, {insert: 0, document: {_id: 3}}, {delete: 1, filter: {_id: 2}}], nsInfo: [{ns: 'test.c'}, {ns: 'local.own'}]";
  auto reply = run_numbered(server, fields, 1);
  CHECK(reply["nErrors"].as_int32() == 0);
  const auto entries = [&](int id) {
    const auto found =
        server.run("local", json("{find: 'oplog.rs', filter: {ns: 'test.c', op: 'i', 'o._id': " + std::to_string(id) + "}}"));
    return bson::Document(found["cursor"].as_document()["firstBatch"].as_document().first().as_document());
  };
  const auto first = entries(1), last = entries(3);
  CHECK(last["stmtId"].as_int32() == 3);
  CHECK(last["prevOpTime"].as_document()["ts"].as_timestamp() == first["ts"].as_timestamp());
  const bson::Document found = server.run("config", json("{find: 'transactions'}"));
  const auto record = found["cursor"].as_document()["firstBatch"];
  CHECK(record.as_document().first().as_document()["lastWriteOpTime"].as_document()["ts"].as_timestamp() ==
        last["ts"].as_timestamp());
}

TEST_CASE("a retryable bulkWrite doesn't write where sessions are recorded") {
  TestServer server{TestServer::SetOfOne{}};
  for (const std::string ns : {"config.transactions", "config.image_collection"}) {
    const auto reply = run_numbered(server, "ops: [{delete: 1, filter: {}}], nsInfo: [{ns: 'test.c'}, {ns: '" + ns + "'}]", 1);
    CHECK(reply["code"].as_int32() == 20);
    CHECK(std::string(reply["errmsg"].as_string()) == "Retryable writes to " + ns + " are not allowed");
  }
}

TEST_CASE("an ordered bulkWrite ends at its first error, another one goes on") {
  const std::string ops =
      "ops: [{insert: 0, document: {_id: 1}}, {insert: 0, document: {_id: 1}}, {insert: 0, document: {_id: 2}},"
      " {update: 0, filter: {_id: 1}, updateMods: {$bad: 1}}, {delete: 0, filter: {$bad: 1}}, {delete: 0, filter: {_id: 1}}], " +
      two;
  TestServer server;
  expect(server, ops,
         "{cursor: {firstBatch: [{ok: 1.0, idx: 0, n: 1}, {ok: 0.0, idx: 1, code: 11000, keyPattern: {_id: 1}, keyValue: {_id: "
         "1}, n: 0}]},"
         " nErrors: 1, nInserted: 1, nDeleted: 0, ok: 1.0}");
  CHECK(server.documents("{find: 'c'}") == "[{_id: 1}]");

  TestServer unordered;
  expect(unordered, ops + ", ordered: false",
         "{cursor: {firstBatch: [{ok: 1.0, idx: 0}, {ok: 0.0, idx: 1, code: 11000}, {ok: 1.0, idx: 2}, {ok: 0.0, idx: 3, code: "
         "9, n: 0, nModified: 0},"
         " {ok: 0.0, idx: 4, code: 2, n: 0}, {ok: 1.0, idx: 5, n: 1}]}, nErrors: 3, nInserted: 2, nDeleted: 1, ok: 1.0}");
  CHECK(unordered.documents("{find: 'c'}") == "[{_id: 2}]");
}

TEST_CASE("bulkWrite with errorsOnly returns errors alone, and counts everything") {
  TestServer server;
  expect(
      server,
      "ops: [{insert: 0, document: {_id: 1}}, {update: 0, filter: {_id: 2}, updateMods: {}, upsert: true}, {insert: 0, document: "
      "{_id: 2}},"
      " {delete: 0, filter: {_id: 1}}], errorsOnly: true, ordered: false, " +
          two,
      "{cursor: {firstBatch: [{ok: 0.0, idx: 2, code: 11000}]}, nErrors: 1, nInserted: 1, nUpserted: 1, nDeleted: 1, ok: 1.0}");
}

TEST_CASE("results of bulkWrite that don't fit the batch wait behind a cursor") {
  TestServer server;
  const auto reply = server.run("admin", json("{bulkWrite: 1, ops: [{insert: 0, document: {_id: 1}}, {insert: 0, document: {_id: "
                                              "2}}, {insert: 0, document: {_id: 3}}],"
                                              " nsInfo: [{ns: 'test.c'}], cursor: {batchSize: 1}}"));
  const auto cursor = reply["cursor"].as_document();
  CHECK(cursor["firstBatch"].as_document().count() == 1);
  CHECK(reply["nInserted"].as_int32() == 3);
  REQUIRE(cursor["id"].as_int64() != 0);
  server.expect(
      "admin", "{getMore: NumberLong('" + std::to_string(cursor["id"].as_int64()) + "'), collection: '$cmd.bulkWrite'}",
      "{cursor: {nextBatch: [{ok: 1.0, idx: 1, n: 1}, {ok: 1.0, idx: 2, n: 1}], id: 0, ns: 'admin.$cmd.bulkWrite'}, ok: 1.0}");
}

TEST_CASE("a bulkWrite that isn't well formed is refused as a whole") {
  TestServer server;
  const std::string good = "{insert: 0, document: {_id: 1}}";
  const auto ops = [&](const std::string& bad) { return "ops: [" + good + ", " + bad + "], nsInfo: [{ns: 'test.c'}]"; };
  server.expect("{bulkWrite: 1, ops: [" + good + "], nsInfo: [{ns: 'test.c'}]}",
                "{ok: 0.0, code: 13, errmsg: 'bulkWrite may only be run against the admin database.'}");
  refuses(server, "nsInfo: [{ns: 'test.c'}]", 40414, "BSON field 'bulkWrite.ops' is missing but a required field");
  refuses(server, "ops: [" + good + "]", 40414, "BSON field 'bulkWrite.nsInfo' is missing but a required field");
  refuses(server, "ops: [" + good + "], nsInfo: null", 40414, "BSON field 'bulkWrite.nsInfo' is missing but a required field");
  refuses(server, "ops: [], nsInfo: 5", 14, "BSON field 'bulkWrite.nsInfo' is the wrong type 'int', expected type 'array'");
  refuses(server, "ops: [], nsInfo: [{ns: 'test.c'}]", 16, "Write batch sizes must be between 1 and 100000. Got 0 operations.");
  refuses(server, "ops: 1, nsInfo: [{ns: 'test.c'}]", 14,
          "BSON field 'bulkWrite.ops' is the wrong type 'int', expected type 'array'");
  refuses(server, "ops: [5], nsInfo: [{ns: 'test.c'}]", 14,
          "BSON field 'bulkWrite.ops.0' is the wrong type 'int', expected type 'object'");
  refuses(server, "ops: [" + good + "], nsInfo: [5]", 14,
          "BSON field 'bulkWrite.nsInfo.0' is the wrong type 'int', expected type 'object'");
  refuses(server, "ops: [" + good + "], nsInfo: [{x: 1}]", 40415, "BSON field 'bulkWrite.nsInfo.x' is an unknown field.");
  refuses(server, "ops: [" + good + "], nsInfo: [{}]", 40414, "BSON field 'bulkWrite.nsInfo.ns' is missing but a required field");
  refuses(server, "ops: [" + good + "], nsInfo: [{ns: 1}]", 14,
          "BSON field 'bulkWrite.nsInfo.ns' is the wrong type 'int', expected type 'string'");
  for (const char* ns : {"nodot", "", "a.", "a b.c"}) {
    const std::string shown = std::string(ns) == "a." ? "a" : ns;
    refuses(server, "ops: [" + good + "], nsInfo: [{ns: '" + ns + "'}]", 73,
            "Invalid namespace specified for bulkWrite: '" + shown + "'");
  }
  refuses(server, ops("{insert: -1, document: {}}"), 2, "BSON field 'insert' value must be >= 0, actual value '-1'");
  refuses(server, ops("{insert: 1, document: {}}"), 2,
          "BulkWrite ops entry { insert: 1, document: {} } has an invalid nsInfo index.");
  refuses(server, ops("{delete: 2147483647, filter: {}}"), 2,
          "BulkWrite ops entry { delete: 2147483647, filter: {} } has an invalid nsInfo index.");
  refuses(server, ops("{insert: 'x', document: {}}"), 14,
          "BSON field 'bulkWrite.ops.insert' is the wrong type 'string', expected types '[long, int, decimal, double']");
  refuses(server, ops("{frobnicate: 0}"), 40415, "BSON field 'bulkWrite.frobnicate' is an unknown field.");
  refuses(server, ops("{}"), 40415, "BSON field 'bulkWrite.' is an unknown field.");
  refuses(server, ops("{insert: 0}"), 40414, "BSON field 'bulkWrite.ops.document' is missing but a required field");
  refuses(server, ops("{insert: 0, document: 5}"), 14,
          "BSON field 'bulkWrite.ops.document' is the wrong type 'int', expected type 'object'");
  refuses(server, ops("{insert: 0, document: {}, multi: true}"), 40415, "BSON field 'bulkWrite.ops.multi' is an unknown field.");
  refuses(server, ops("{update: 0, filter: {}}"), 40414, "BSON field 'bulkWrite.ops.updateMods' is missing but a required field");
  refuses(server, ops("{update: 0, updateMods: {}}"), 40414, "BSON field 'bulkWrite.ops.filter' is missing but a required field");
  refuses(server, ops("{update: 0, filter: {}, updateMods: 5}"), 9, "Update argument must be either an object or an array");
  refuses(server, ops("{update: 0, filter: {}, updateMods: {}, multi: 1}"), 14,
          "BSON field 'bulkWrite.ops.multi' is the wrong type 'int', expected type 'bool'");
  refuses(server, ops("{delete: 0}"), 40414, "BSON field 'bulkWrite.ops.filter' is missing but a required field");
  refuses(server, ops("{delete: 0, filter: {}, limit: 1}"), 40415, "BSON field 'bulkWrite.ops.limit' is an unknown field.");
  refuses(server, ops(good) + ", ordered: 1", 14, "BSON field 'bulkWrite.ordered' is the wrong type 'int', expected type 'bool'");
  refuses(server, ops(good) + ", errorsOnly: 'x'", 14,
          "BSON field 'bulkWrite.errorsOnly' is the wrong type 'string', expected type 'bool'");
  refuses(server, ops(good) + ", let: 1", 14, "BSON field 'bulkWrite.let' is the wrong type 'int', expected type 'object'");
  refuses(server, ops(good) + ", cursor: 1", 14, "BSON field 'bulkWrite.cursor' is the wrong type 'int', expected type 'object'");
  refuses(server, ops(good) + ", frob: 1", 40415, "BSON field 'bulkWrite.frob' is an unknown field.");
  refuses(server, ops(good) + ", stmtId: 'x'", 14,
          "BSON field 'bulkWrite.stmtId' is the wrong type 'string', expected type 'int'");
  refuses(server, ops(good) + ", stmtIds: [1]", 16,
          "Number of statement ids must match the number of batch entries. Got 1 statement ids but 2 operations.");
  refuses(server, ops(good) + ", stmtIds: [1, 'x']", 14,
          "BSON field 'bulkWrite.stmtIds.1' is the wrong type 'string', expected type 'int'");
  refuses(server, ops(good) + ", stmtIds: [1, 2], stmtId: 3", 72,
          "May not specify both stmtId and stmtIds in bulkWrite command.");
  refuses(server, "ops: [" + good + "], nsInfo: [{ns: 'local.oplog.rs'}]", 73, "cannot write to local.oplog.rs");
  refuses(server, "ops: [" + good + "], nsInfo: [{ns: 'test.system.x'}]", 73, "Invalid system namespace: test.system.x");
  server.expect("{count: 'c'}", "{n: 0}");
}

TEST_CASE("options of bulkWrite's updates hold") {
  TestServer server;
  server.run(json("{insert: 'c', documents: [{_id: 1, a: [1, 5], n: 1}, {_id: 2, a: [7], n: 2}]}"));
  expect(server,
         "ops: [{update: 0, filter: {}, updateMods: {$set: {'a.$[big]': 0}}, arrayFilters: [{big: {$gt: 3}}], multi: true},"
         " {update: 0, filter: {_id: 1}, updateMods: [{$set: {b: '$$x', c: '$$y'}}], constants: {x: 7}},"
         " {update: 0, filter: {}, updateMods: {$set: {first: true}}, sort: {n: -1}},"
         " {update: 0, filter: {_id: 2}, updateMods: {$set: {h: 1}}, hint: '_id_'},"
         " {delete: 0, filter: {$expr: {$eq: ['$n', '$$y']}}, hint: {_id: 1}}], let: {y: 1}, " +
             two,
         "{nErrors: 0, nMatched: 5, nModified: 5, nDeleted: 1, ok: 1.0}");
  CHECK(server.documents("{find: 'c'}") == "[{_id: 2, a: [0], n: 2, first: true, h: 1}]");
  expect(server,
         "ops: [{update: 0, filter: {}, updateMods: {$set: {x: 1}}, multi: true, sort: {n: 1}}, {update: 0, filter: {}, "
         "updateMods: {$set: {x: 1}}, hint: 'none'},"
         " {update: 0, filter: {}, updateMods: {$set: {x: 1}}, constants: {x: 1}}, {delete: 0, filter: {}, hint: 'none'}], "
         "ordered: false, " +
             two,
         "{cursor: {firstBatch: [{ok: 0.0, idx: 0, code: 9, errmsg: 'Cannot specify sort with multi=true'}, {ok: 0.0, idx: 1, "
         "code: 2},"
         " {ok: 0.0, idx: 2, code: 51198}, {ok: 0.0, idx: 3, code: 2}]}, nErrors: 4, nMatched: 0}");
  expect(server, "ops: [{update: 0, filter: {}, updateMods: {}, collation: {locale: 'zz'}}], " + two, "{ok: 0.0}");
  expect(server,
         "ops: [{insert: 0, document: {_id: 5, t: {$timestamp: {t: 0, i: 0}}}}, {update: 0, filter: {_id: 6}, updateMods: {t: "
         "{$timestamp: {t: 0, i: 0}}}, upsert: true}],"
         " bypassEmptyTsReplacement: true, " +
             two,
         "{nErrors: 0}");
  server.expect("{count: 'c', query: {t: {$timestamp: {t: 0, i: 0}}}}", "{n: 2}");
}

TEST_CASE("an upsert may say what it inserts") {
  TestServer server;
  server.expect(
      "{update: 'c', updates: [{q: {_id: 1}, u: [{$set: {a: '$$new.a'}}], c: {new: {_id: 1, a: 7, whole: true}}, upsert: true, "
      "upsertSupplied: true}]}",
      "{n: 1, upserted: [{index: 0, _id: 1}], ok: 1.0}");
  CHECK(server.documents("{find: 'c'}") == "[{_id: 1, a: 7, whole: true}]");
  expect(server,
         "ops: [{update: 0, filter: {_id: 2}, updateMods: [{$set: {a: 1}}], constants: {new: {a: 8}}, upsert: true, "
         "upsertSupplied: true}], " +
             two,
         "{nUpserted: 1}");
  server.expect("{count: 'c', query: {a: 8}}", "{n: 1}");
  server.expect("{update: 'c', updates: [{q: {}, u: [{$set: {a: 1}}], c: {new: {a: 1}}, upsertSupplied: true}]}",
                "{writeErrors: [{code: 9, errmsg: \"cannot specify 'upsertSupplied: true' for a non-upsert operation\"}]}");
  for (const char* constants : {"", ", c: {old: {}}", ", c: {new: 5}"}) {
    server.expect(
        std::string("{update: 'c', updates: [{q: {_id: 9}, u: [{$set: {a: 1}}]") + constants +
            ", upsert: true, upsertSupplied: true}]}",
        "{writeErrors: [{code: 9, errmsg: \"the parameter 'upsertSupplied' is set to 'true', but no document was supplied\"}]}");
  }
}

TEST_CASE("collectionUUID of bulkWrite is checked operation by operation") {
  TestServer server;
  server.run(json("{insert: 'c', documents: [{_id: 1}]}"));
  const std::string uuid = "UUID('00112233-4455-4677-8899-aabbccddeeff')";
  expect(server,
         "ops: [{insert: 0, document: {_id: 2}}, {insert: 0, document: {_id: 3}}, {update: 0, filter: {}, updateMods: {$set: {a: "
         "1}}}, {insert: 1, document: {_id: 4}}], ordered: false,"
         " nsInfo: [{ns: 'test.c', collectionUUID: " +
             uuid + "}, {ns: 'test.c'}]",
         "{cursor: {firstBatch: [{ok: 0.0, idx: 0, code: 361, db: 'test', collectionUUID: " + uuid +
             ", expectedCollection: 'c', actualCollection: null}, {ok: 0.0, idx: 1, code: 361}, {ok: 0.0, idx: 2, code: 361}, "
             "{ok: 1.0, idx: 3}]}, nErrors: 3}");
  server.expect("{count: 'c'}", "{n: 2}");
  server.run(json("{insert: 'd', documents: [{_id: 1}]}"));
  const auto listed = server.run(json("{listCollections: 1, filter: {name: 'd'}}"));
  const auto its = listed["cursor"].as_document()["firstBatch"].as_document().first().as_document()["info"].as_document()["uuid"];
  bson::Builder insert;
  insert.append("insert", "c");
  insert.array("documents").append(json("{_id: 9}"));
  insert.append("collectionUUID", static_cast<bson::ValueView>(its));
  server.expect(
      insert.done(),
      "{ok: 0.0, code: 361, codeName: 'CollectionUUIDMismatch', db: 'test', expectedCollection: 'c', actualCollection: 'd'}");
  expect(server, "ops: [{insert: 0, document: {}}], nsInfo: [{ns: 'test.c', collectionUUID: 'x'}]", "{ok: 0.0, code: 207}");
}

TEST_CASE("bulkWrite writes to branches") {
  TestServer server;
  server.run(json("{insert: 'c', documents: [{_id: 1}]}"));
  server.expect("{createBranch: 'dev'}", "{ok: 1.0}");
  expect(server,
         "ops: [{insert: 0, document: {_id: 2}}, {delete: 1, filter: {_id: 1}}, {update: 0, filter: {_id: 2}, updateMods: {$set: "
         "{a: 1}}}, {insert: 2, document: {_id: 9}}],"
         " ordered: false, nsInfo: [{ns: 'test@dev.c'}, {ns: 'test.c'}, {ns: 'test@none.c'}]",
         "{cursor: {firstBatch: [{ok: 1.0}, {ok: 1.0}, {ok: 1.0}, {ok: 0.0, idx: 3}]}, nErrors: 1, nInserted: 1, nModified: 1, "
         "nDeleted: 1}");
  server.expect("test@dev", "{find: 'c', sort: {_id: 1}}", "{cursor: {firstBatch: [{_id: 1}, {_id: 2, a: 1}]}}");
  server.expect("{count: 'c'}", "{n: 0}");
}

TEST_CASE("bulkWrite counts its operations as what they are") {
  TestServer server;
  Metrics& metrics = server.services().metrics;
  const auto counts = [&] {
    return std::vector<int64_t>{metrics.operation(OpKind::insert).get(), metrics.operation(OpKind::update).get(),
                                metrics.operation(OpKind::remove).get(), metrics.operation(OpKind::command).get()};
  };
  const auto before = counts();
  expect(server,
         "ops: [{insert: 0, document: {}}, {insert: 0, document: {}}, {update: 0, filter: {}, updateMods: {}}, {delete: 0, "
         "filter: {}}], " +
             two,
         "{nErrors: 0}");
  const auto after = counts();
  CHECK(after[0] - before[0] == 2);
  CHECK(after[1] - before[1] == 1);
  CHECK(after[2] - before[2] == 1);
  CHECK(after[3] == before[3]);
}

// For any random operations, it has the effect of single commands run one after the other.
TEST_CASE("bulkWrite and single commands come to the same") {
  base::Random random(base::testing::seed());
  for (int round = 0; round < 30; ++round) {
    TestServer server;
    const bool ordered = random.below(2) == 0;
    std::string ops;
    bool stopped = false;
    const int count = 1 + static_cast<int>(random.below(25));
    int errors = 0;
    for (int i = 0; i < count; ++i) {
      const std::string id = std::to_string(random.below(5)), place = std::to_string(random.below(2)),
                        collection = place == "0" ? "c" : "d";
      std::string op, single;
      switch (random.below(4)) {
        case 0:
        case 1:
          op = "{insert: " + place + ", document: {_id: " + id + ", n: " + std::to_string(i) + "}}";
          single = "{insert: 'single_" + collection + "', documents: [{_id: " + id + ", n: " + std::to_string(i) + "}]}";
          break;
        case 2:
          op = "{update: " + place + ", filter: {_id: " + id + "}, updateMods: {$set: {n: " + std::to_string(i) +
               "}}, upsert: true}";
          single = "{update: 'single_" + collection + "', updates: [{q: {_id: " + id + "}, u: {$set: {n: " + std::to_string(i) +
                   "}}, upsert: true}]}";
          break;
        default:
          op = "{delete: " + place + ", filter: {_id: " + id + "}}";
          single = "{delete: 'single_" + collection + "', deletes: [{q: {_id: " + id + "}, limit: 1}]}";
      }
      ops += (i ? ", " : "") + op;
      if (stopped) continue;
      const auto reply = server.run(json(single));
      const bool failed = reply["writeErrors"].exists();
      errors += failed;
      stopped = ordered && failed;
    }
    INFO("ordered " << ordered << " " << ops);
    expect(server, "ops: [" + ops + "], ordered: " + (ordered ? "true" : "false") + ", nsInfo: [{ns: 'test.c'}, {ns: 'test.d'}]",
           "{nErrors: " + std::to_string(errors) + "}");
    for (const std::string collection : {"c", "d"}) {
      CHECK(server.documents("{find: '" + collection + "', sort: {_id: 1}}") ==
            server.documents("{find: 'single_" + collection + "', sort: {_id: 1}}"));
    }
  }
}

}  // namespace
}  // namespace server
