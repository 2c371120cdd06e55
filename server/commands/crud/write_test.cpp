// These tests run the writing commands through dispatch, on an engine in a
// directory of its own.
#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

#include "base/clock.h"
#include "base/testing.h"
#include "bson/json.h"
#include "replication/log_reader.h"
#include "server/assembly/assembly.h"
#include "server/commands/test_server.h"
#include "server/core/client.h"
#include "server/core/operation.h"
#include "server/core/parameters.h"
#include "server/core/services.h"
#include "server/write/ttl_monitor.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"
#include "versions/database/databases.h"

namespace server {
namespace {

using bson::json;

TEST_CASE("documents are inserted, and found again") {
  TestServer server;
  server.expect(R"({insert: "c", documents: [{_id: 1, a: 1}, {_id: 2, a: 2}]})", R"({n: 2, ok: 1.0})");
  server.expect(R"({count: "c"})", R"({n: 2})");
  CHECK(server.documents(R"({find: "c", sort: {_id: 1}})") == "[{_id: 1, a: 1}, {_id: 2, a: 2}]");
}

TEST_CASE("a command that waits for the engine's cache ends with its time") {
  TestServer server;
  server.expect(R"({insert: "c", documents: [{_id: 1, a: 1}]})", R"({n: 1})");
  storage::Engine& engine = server.services().store->engine();
  const storage::Table table = engine.open_table("large");
  const std::vector<std::string> commands = {
      R"({find: "c", maxTimeMS: 50})",
      R"({aggregate: "c", pipeline: [], cursor: {}, maxTimeMS: 50})",
      R"({insert: "c", documents: [{_id: 2}, {_id: 3}], maxTimeMS: 50})",
      R"({update: "c", updates: [{q: {}, u: {$set: {a: 2}}}], maxTimeMS: 50})",
      R"({delete: "c", deletes: [{q: {}, limit: 0}], maxTimeMS: 50})",
      R"({findAndModify: "c", query: {}, update: {$set: {a: 2}}, maxTimeMS: 50})",
  };
  {
    // This transaction holds more than there is room for in the cache, so whoever waits for room waits until it ends.
    storage::Transaction holder(engine, storage::Transaction::Mode::write);
    table.put(holder, "k", storage::Bytes(engine.options().cache_bytes / 4 * 5, 'x'));
    for (const std::string& command : commands) {
      INFO(command);
      server.expect(command, R"({ok: 0.0, code: 50})");
    }
  }
  CHECK(server.documents(R"({find: "c"})") == "[{_id: 1, a: 1}]");
}

TEST_CASE("an _id is made where there is none, and put in front") {
  TestServer server;
  server.expect(R"({insert: "c", documents: [{a: 1}, {b: 1, _id: 7}]})", R"({n: 2})");
  const auto reply = server.run(json(R"({find: "c", filter: {a: 1}})"));
  const auto first = reply["cursor"].as_document()["firstBatch"].as_document().first().as_document();
  CHECK(first.first().name == "_id");
  CHECK(first.first().type() == bson::Type::object_id);
  CHECK(server.documents(R"({find: "c", filter: {_id: 7}})") == "[{_id: 7, b: 1}]");
}

TEST_CASE("a duplicate stops an ordered insert and is passed over by an unordered one") {
  TestServer server;
  const char* error =
      R"({index: 1, code: 11000, keyPattern: {_id: 1}, keyValue: {_id: 1},
          errmsg: "E11000 duplicate key error collection: test.c index: _id_ dup key: { _id: 1 }"})";
  server.expect(R"({insert: "c", documents: [{_id: 1}, {_id: 1}, {_id: 2}]})",
                std::string("{n: 1, writeErrors: [") + error + "], ok: 1.0}");
  CHECK(server.documents(R"({find: "c", sort: {_id: 1}})") == "[{_id: 1}]");
  server.expect(R"({insert: "d", documents: [{_id: 1}, {_id: 1}, {_id: 2}, {_id: 2}, {_id: 3}], ordered: false})", R"({n: 3})");
  CHECK(server.documents(R"({find: "d", sort: {_id: 1}})") == "[{_id: 1}, {_id: 2}, {_id: 3}]");
}

TEST_CASE("documents that can't be inserted are refused, one by one or as a whole") {
  TestServer server;
  server.expect(R"({insert: "c", documents: [{_id: [1]}]})",
                R"({n: 0, writeErrors: [{index: 0, code: 53, errmsg: "The '_id' value cannot be of type array"}]})");
  server.expect(R"({insert: "c", documents: [{_id: {"$a": 1}}]})",
                R"({n: 0, writeErrors: [{index: 0, code: 52, errmsg: "_id fields may not contain '$'-prefixed fields: $a is not )"
                R"(valid for storage."}]})");
  server.expect(R"({insert: "c"})",
                R"({ok: 0.0, code: 40414, errmsg: "BSON field 'insert.documents' is missing but a required field"})");
  server.expect(R"({insert: "c", documents: []})",
                R"({ok: 0.0, code: 16, errmsg: "Write batch sizes must be between 1 and 100000. Got 0 operations."})");
  server.expect(R"({insert: "c", documents: [{}], ordered: 1})",
                R"({ok: 0.0, code: 14, errmsg: "BSON field 'insert.ordered' is the wrong type 'int', expected type 'bool'"})");
  server.expect(R"({insert: "c", documents: [{}], nonsense: 1})",
                R"({ok: 0.0, code: 40415, errmsg: "BSON field 'insert.nonsense' is an unknown field."})");
  server.expect(R"({insert: "system.foo", documents: [{}]})", R"({ok: 0.0, code: 73})");
  server.expect(R"({insert: "c", documents: [{}], writeConcern: {w: 2}})",
                R"({ok: 0.0, code: 2, errmsg: "cannot use 'w' > 1 when a host is not replicated"})");
}

TEST_CASE("an error about a key of megabytes fits into the reply") {
  TestServer server;
  server.expect("test", "{createIndexes: 'c', indexes: [{key: {a: 1}, name: 'a', unique: true}]}", "{ok: 1.0}");
  const std::string text(7 << 20, 't');
  server.expect("test", "{insert: 'c', documents: [{_id: 0, a: '" + text + "'}]}", "{n: 1}");
  const auto reply =
      server.run("test", json("{insert: 'c', ordered: false, documents: [{_id: 1, a: '" + text + "'}, {_id: 0}, {_id: 2}]}"));
  CHECK(reply["ok"].as_double() == 1);
  CHECK(reply["n"].as_int32() == 1);
  REQUIRE(reply["writeErrors"].as_document().count() == 2);
  const auto first = reply["writeErrors"].as_document().first().as_document();
  CHECK(first["code"].as_int32() == 11000);
  CHECK(first["keyValue"].as_document()["a"].as_string().size() == text.size());
  CHECK(first["errmsg"].as_string().size() <= 1 << 20);
  const auto modified = server.run("test", json("{findAndModify: 'c', query: {_id: 2}, update: {a: '" + text + "'}}"));
  CHECK(modified["code"].as_int32() == 11000);
  CHECK(modified.size() < 9 << 20);
}

// The rules' description is part of each error's details.
void make_strict_collection(TestServer& server) {
  const std::string description(10'000, 'd');
  server.expect("test", "{create: 'strict', validator: {$jsonSchema: {required: ['x'], description: '" + description + "'}}}",
                "{ok: 1.0}");
}

TEST_CASE("the errors of many documents fit into the reply, with index and code each") {
  TestServer server;
  make_strict_collection(server);
  constexpr int count = 4000;
  std::string documents = "{_id: 0, x: 1}";
  for (int i = 1; i < count; ++i) documents += ", {_id: " + std::to_string(i) + "}";
  const auto reply = server.run("test", json("{insert: 'strict', ordered: false, documents: [" + documents + "]}"));
  CHECK(reply["ok"].as_double() == 1);
  CHECK(reply["n"].as_int32() == 1);
  CHECK(reply.size() < 2 << 20);
  int index = 0;
  for (const auto& error : reply["writeErrors"].as_document()) {
    ++index;
    CHECK(error.as_document()["index"].as_int32() == index);
    CHECK(error.as_document()["code"].as_int32() == 121);
    CHECK(error.as_document()["errmsg"].is_string());
    if (index < 10) CHECK(error.as_document()["errInfo"].is_object());
    if (index == count - 1) CHECK(!error.as_document()["errInfo"].exists());
  }
  CHECK(index == count - 1);
}

TEST_CASE("an error whose reasons would be too large says so, and a warning stops no write") {
  TestServer server;
  std::string rules;  // each quotes the text
  for (int i = 0; i < 20; ++i) rules += (i ? ", " : "") + std::string("{text: {$type: 'int'}}");
  server.expect("test", "{create: 'strict', validator: {$or: [" + rules + "]}}", "{ok: 1.0}");
  server.expect("test", "{create: 'lenient', validator: {$or: [" + rules + "]}, validationAction: 'warn'}", "{ok: 1.0}");
  for (const size_t bytes : {1 << 20, 10 << 20}) {  // details of 20 MB, and of more than can be made
    const std::string document = "{_id: 1, text: '" + std::string(bytes, 't') + "'}";
    const auto reply = server.run("test", json("{insert: 'strict', documents: [" + document + "]}"));
    CHECK(reply["ok"].as_double() == 1);
    const auto error = reply["writeErrors"].as_document().first().as_document();
    CHECK(error["code"].as_int32() == 121);
    CHECK(error["errInfo"].as_document().bytes() ==
          json("{failingDocumentId: 1, note: 'detailed error was too large'}").view().bytes());
    server.expect("test", "{insert: 'lenient', documents: [" + document + "]}", "{n: 1, ok: 1.0}");
    server.expect("test", "{delete: 'lenient', deletes: [{q: {_id: 1}, limit: 1}]}", "{n: 1, ok: 1.0}");
  }
}

TEST_CASE("a commit is refused for a document whose reasons would be too large") {
  TestServer server;
  std::string rules;
  for (int i = 0; i < 20; ++i) rules += (i ? ", " : "") + std::string("{text: {$type: 'int'}}");
  server.expect("{insert: 'c', documents: [{_id: 1}]}", "{n: 1}");
  server.expect("{createBranch: 'dev'}", "{ok: 1.0}");
  server.expect("{commitValidator: {c: {validator: {$or: [" + rules + "]}}}}", "{ok: 1.0}");
  server.expect("{insert: 'c', documents: [{_id: 2, text: '" + std::string(10 << 20, 't') + "'}]}", "{n: 1}");
  server.expect("{commit: 1}", "{ok: 0.0, code: 121}");
}

TEST_CASE("a validator's work belongs to the write, which it can end") {
  TestServer server;
  server.expect("test", "{create: 'c', validator: {list: {$not: {$elemMatch: {$gt: 1, $lt: 0}}}}}", "{ok: 1.0}");
  bson::Builder command;
  command.append("insert", "c");
  {
    auto documents = command.array("documents");
    auto document = documents.object();
    auto list = document.array("list");
    for (int i = 0; i < 1'000'000; ++i) list.append(i);
  }
  const bson::Document insert = command.done();
  CHECK(server.run("test", insert)["n"].as_int32() == 1);
  bson::Builder limited;
  limited.append_all(insert).append("maxTimeMS", 1);
  const auto reply = server.run("test", limited.done());
  REQUIRE(reply["code"].exists());
  CHECK(reply["code"].as_int32() == 50);
}

TEST_CASE("a schema's work within one document can be ended") {
  TestServer server;
  std::string allowed, list;
  for (int i = 0; i < 3000; ++i) allowed += (i ? ", " : "") + std::to_string(i);
  for (int i = 0; i < 200'000; ++i) list += i ? ", 2999" : "2999";
  server.expect("test", "{create: 'c', validator: {$jsonSchema: {properties: {list: {items: {enum: [" + allowed + "]}}}}}}",
                "{ok: 1.0}");
  const auto reply = server.run("test", json("{insert: 'c', documents: [{list: [" + list + "]}], maxTimeMS: 100}"));
  REQUIRE(reply["code"].exists());
  CHECK(reply["code"].as_int32() == 50);
}

TEST_CASE("$$NOW is one time for all statements of an update") {
  TestServer server;
  std::string documents, statements;
  for (int i = 0; i < 3000; ++i) {
    documents += (i ? ", {_id: " : "{_id: ") + std::to_string(i) + "}";
    statements += (i ? ", {q: {_id: " : "{q: {_id: ") + std::to_string(i) + "}, u: [{$set: {at: '$$NOW'}}]}";
  }
  server.expect("test", "{insert: 'c', documents: [" + documents + "]}", "{n: 3000}");
  server.expect("test", "{update: 'c', updates: [" + statements + "]}", "{n: 3000, nModified: 3000}");
  CHECK(server.run("test", json("{distinct: 'c', key: 'at'}"))["values"].as_document().count() == 1);
}

TEST_CASE("updates count what they match and what they change") {
  TestServer server;
  server.expect(R"({insert: "c", documents: [{_id: 1, a: 1}, {_id: 2, a: 1}, {_id: 3, a: 5}]})", R"({n: 3})");
  server.expect(R"({update: "c", updates: [{q: {a: 1}, u: {$set: {a: 1}}}]})", R"({n: 1, nModified: 0, ok: 1.0})");
  server.expect(R"({update: "c", updates: [{q: {a: 1}, u: {$inc: {a: 10}}, multi: true}]})", R"({n: 2, nModified: 2})");
  server.expect(R"({update: "c", updates: [{q: {_id: 3}, u: {b: 1}}, {q: {_id: 9}, u: {b: 1}}]})", R"({n: 1, nModified: 1})");
  CHECK(server.documents(R"({find: "c", sort: {_id: 1}})") == "[{_id: 1, a: 11}, {_id: 2, a: 11}, {_id: 3, b: 1}]");
  server.expect(R"({update: "c", updates: [{q: {_id: 4, x: 2}, u: {$set: {b: 1}, $setOnInsert: {c: 1}}, upsert: true}]})",
                R"({n: 1, upserted: [{index: 0, _id: 4}], nModified: 0})");
  CHECK(server.documents(R"({find: "c", filter: {_id: 4}})") == "[{_id: 4, x: 2, b: 1, c: 1}]");
  server.expect(R"({update: "c", updates: [{q: {_id: 1}, u: {$set: {_id: 2}}}, {q: {_id: 1}, u: {$set: {z: 1}}}]})",
                R"({n: 0, writeErrors: [{index: 0, code: 66,
                    errmsg: "Performing an update on the path '_id' would modify the immutable field '_id'"}]})");
  server.expect(R"({update: "c", updates: [{q: {}, u: {a: 1}, multi: true}]})",
                R"({writeErrors: [{index: 0, code: 9, errmsg: "multi update is not supported for replacement-style update"}]})");
  server.expect(R"({update: "c", updates: [{q: {}, u: {}, sorted: {a: 1}}]})",
                R"({ok: 0.0, code: 40415, errmsg: "BSON field 'update.updates.sorted' is an unknown field."})");
}

TEST_CASE("an update's statement has no sort") {
  TestServer server;
  server.run(json(R"({insert: "c", documents: [{_id: 1, a: 1}]})"));
  const char* const refused = R"({ok: 0.0, code: 40415, errmsg: "BSON field 'update.updates.sort' is an unknown field."})";
  server.expect(R"({update: "c", updates: [{q: {}, u: {$set: {a: 2}}, sort: {a: 1}}]})", refused);
  server.expect(R"({explain: {update: "c", updates: [{q: {}, u: {$set: {a: 2}}, sort: {a: 1}}]}})", refused);
  CHECK(server.documents(R"({find: "c"})") == "[{_id: 1, a: 1}]");
}

TEST_CASE("the positional operator stands for the element the query matched") {
  TestServer server;
  server.run(json(R"({insert: "c", documents: [{_id: 1, a: [{b: 1}, {b: 2}, {b: 3}]}]})"));
  server.expect(R"({update: "c", updates: [{q: {"a.b": 2}, u: {$set: {"a.$.c": 9}}}]})", R"({n: 1, nModified: 1})");
  CHECK(server.documents(R"({find: "c"})") == "[{_id: 1, a: [{b: 1}, {b: 2, c: 9}, {b: 3}]}]");
  server.expect(R"({update: "c", updates: [{q: {_id: 1}, u: {$inc: {"a.$[e].b": 10}}, arrayFilters: [{"e.b": {$gte: 2}}]}]})",
                R"({n: 1, nModified: 1})");
  server.expect(R"({update: "c", updates: [{q: {_id: 1}, u: {$pull: {a: {b: {$gt: 12}}}}}]})", R"({nModified: 1})");
  CHECK(server.documents(R"({find: "c"})") == "[{_id: 1, a: [{b: 1}, {b: 12, c: 9}]}]");
}

TEST_CASE("an update may be a pipeline of stages") {
  TestServer server;
  server.run(json(R"({insert: "c", documents: [{_id: 1, a: 2, b: 3}]})"));
  server.expect(R"({update: "c", updates: [{q: {_id: 1}, u: [{$set: {sum: {$add: ["$a", "$b", "$$more"]}}}, {$unset: "a"}], )"
                R"(c: {more: 5}}]})",
                R"({n: 1, nModified: 1})");
  CHECK(server.documents(R"({find: "c"})") == "[{_id: 1, b: 3, sum: 10}]");
  server.expect(R"({findAndModify: "c", query: {_id: 2}, update: [{$replaceWith: {x: {$literal: 1}}}], upsert: true, new: true})",
                R"({value: {x: 1}})");
  server.expect(R"({update: "c", updates: [{q: {_id: 1}, u: [{$set: {_id: 9}}]}]})", R"({writeErrors: [{index: 0, code: 66}]})");
  server.expect(R"({update: "c", updates: [{q: {_id: 1}, u: [{$match: {}}]}]})",
                R"({writeErrors: [{index: 0, code: 72, errmsg: "$match is not allowed to be used within an update"}]})");
}

TEST_CASE("a path of very many parts is refused, or leads to nothing") {
  TestServer server;
  server.run(json(R"({insert: "c", documents: [{_id: 1, n: 1}]})"));
  server.run(json(R"({createIndexes: "c", indexes: [{key: {"$**": 1}, name: "all"}]})"));
  const auto with_path = [](std::string command, size_t parts) {
    std::string path = "a";
    for (size_t i = 1; i < parts; ++i) path += ".a";
    for (size_t at; (at = command.find("PATH")) != std::string::npos;) command.replace(at, 4, path);
    return command;
  };
  constexpr size_t many = 30'000;  // following so many by recursion would need more than a thread's stack
  for (const char* refused : {
           R"({aggregate: "c", pipeline: [{$addFields: {"PATH": 1}}], cursor: {}})",
           R"({aggregate: "c", pipeline: [{$project: {"PATH": 1}}], cursor: {}})",
           R"({aggregate: "c", pipeline: [{$project: {"PATH": 0}}], cursor: {}})",
           R"({aggregate: "c", pipeline: [{$project: {x: "$PATH"}}], cursor: {}})",
           R"({aggregate: "c", pipeline: [{$unset: "PATH"}], cursor: {}})",
           R"({find: "c", projection: {"PATH": 1}})",
           R"({find: "c", sort: {"PATH": 1}})",
       }) {
    INFO(refused);
    server.expect(with_path(refused, many), R"({ok: 0, code: 15, codeName: "Overflow"})");
    server.expect(with_path(refused, 201), R"({ok: 0, code: 15})");
    server.expect(with_path(refused, 200), R"({ok: 1})");
  }
  server.expect(with_path(R"({aggregate: "c", pipeline: [{$project: {"PATH": {"PATH": 1}}}], cursor: {}})", 150),
                R"({ok: 0, code: 15})");
  for (const char* refused :
       {R"({$set: {"PATH": 1}})", R"({$unset: {"PATH": 1}})", R"({$inc: {"PATH": 1}})", R"({$pull: {"PATH": 1}})",
        R"({$rename: {n: "PATH"}})", R"({$rename: {"PATH": "n"}})", R"([{$set: {"PATH": 1}}])"}) {
    INFO(refused);
    server.expect(with_path(std::string(R"({update: "c", updates: [{q: {}, u: )") + refused + "}]}", many),
                  R"({n: 0, writeErrors: [{index: 0, code: 15}]})");
  }
  server.expect(with_path(R"({update: "c", updates: [{q: {"PATH": 1}, u: {$set: {n: 2}}, upsert: true}]})", many),
                R"({n: 0, writeErrors: [{index: 0, code: 15}]})");
  CHECK(server.documents(with_path(R"({find: "c", filter: {"PATH": 1}})", many)) == "[]");
  CHECK(server.documents(with_path(R"({find: "c", filter: {"PATH": {$elemMatch: {"PATH": 1}}}})", many)) == "[]");
  CHECK(server.documents(with_path(R"({find: "c", filter: {"PATH": null}})", many)) == "[{_id: 1, n: 1}]");
}

TEST_CASE("variables of let are seen by queries") {
  TestServer server;
  server.run(json(R"({insert: "c", documents: [{_id: 1, a: 2}, {_id: 2, a: 7}]})"));
  server.expect(
      R"({update: "c", updates: [{q: {$expr: {$eq: ["$a", "$$x"]}}, u: {$set: {hit: true}}}], let: {x: {$add: [3, 4]}}})",
      R"({n: 1})");
  CHECK(server.documents(R"({find: "c", filter: {hit: true}})") == "[{_id: 2, a: 7, hit: true}]");
  server.expect(R"({delete: "c", deletes: [{q: {$expr: {$eq: ["$a", "$$x"]}}, limit: 0}], let: {x: 2}})", R"({n: 1})");
}

TEST_CASE("a duplicate reports its key, whichever command met it") {
  TestServer server;
  server.run(json(R"({createIndexes: "c", indexes: [{key: {k: 1}, name: "k_1", unique: true}]})"));
  server.run(json(R"({insert: "c", documents: [{_id: 1, k: 1}, {_id: 2, k: 2}]})"));
  server.expect(R"({findAndModify: "c", query: {_id: 2}, update: {$set: {k: 1}}})",
                R"({ok: 0.0, code: 11000, codeName: "DuplicateKey", keyPattern: {k: 1}, keyValue: {k: 1}})");
  server.expect(R"({update: "c", updates: [{q: {}, u: {$set: {k: 5}}, multi: true}]})",
                R"({writeErrors: [{index: 0, code: 11000, keyPattern: {k: 1}, keyValue: {k: 5}}]})");
  server.expect(R"({update: "c", updates: [{q: {_id: 3, k: 2}, u: {$set: {x: 1}}, upsert: true}]})",
                R"({writeErrors: [{index: 0, code: 11000}]})");
  server.expect(R"({validate: "c", full: true})", R"({valid: true, nrecords: 2, keysPerIndex: {_id_: 2, k_1: 2}})");
}

TEST_CASE("the log has every write of a user") {
  TestServer server;
  server.run(json(R"({insert: "c", documents: [{_id: 1, a: 1}]})"));
  server.run(json(R"({update: "c", updates: [{q: {_id: 1}, u: {b: 2}}]})"));
  server.run(json(R"({update: "c", updates: [{q: {_id: 1}, u: {$set: {b: 2}}}]})"));  // changes nothing
  server.run(json(R"({delete: "c", deletes: [{q: {_id: 1}, limit: 1}]})"));
  const auto reply = server.run(
      "local", json(R"({find: "oplog.rs", filter: {ns: "test.c"}, sort: {$natural: 1}, projection: {op: 1, o: 1, _id: 0}})"));
  CHECK(bson::to_shell(reply["cursor"].as_document()["firstBatch"]) ==
        "[ { op: \"i\", o: { _id: 1, a: 1 } }, { op: \"u\", o: { _id: 1, b: 2 } }, { op: \"d\", o: { _id: 1 } } ]");
  server.expect("local", R"({insert: "oplog.rs", documents: [{a: 1}]})",
                R"({ok: 0.0, code: 73, errmsg: "cannot write to local.oplog.rs"})");
  server.expect("local", R"({drop: "oplog.rs"})", R"({ok: 0.0, code: 20})");
}

TEST_CASE("an update that moves documents ahead in the index it walks meets each once") {
  TestServer server;
  server.run(json(R"({createIndexes: "c", indexes: [{key: {a: 1}, name: "a_1"}]})"));
  bson::Builder insert;
  insert.append("insert", "c");
  {
    auto documents = insert.array("documents");
    for (int i = 0; i < 1000; ++i) {
      auto document = documents.object();
      document.append("_id", i).append("a", i % 10);
    }
  }
  server.expect(insert.done(), R"({n: 1000})");
  server.expect(R"({update: "c", updates: [{q: {a: {$gte: 0}}, u: {$inc: {a: 100}}, multi: true, hint: "a_1"}]})",
                R"({n: 1000, nModified: 1000})");
  server.expect(R"({count: "c", query: {a: {$gte: 100, $lt: 110}}})", R"({n: 1000})");
}

TEST_CASE("a change or a removal of many large documents is several transactions, none too large to travel") {
  TestServer server;
  const std::string pad(1 << 20, 'p');
  for (int i = 0; i < 24; ++i) {
    bson::Builder insert;
    insert.append("insert", "c");
    {
      auto documents = insert.array("documents");
      documents.object().append("_id", i).append("pad", pad);
    }
    server.expect(insert.done(), R"({n: 1})");
  }
  const storage::Stamp from = server.services().store->engine().all_committed();
  size_t at_least = 0;
  SECTION("a change makes each twice as large") {
    at_least = 4;
    server.expect(
        R"({update: "c", updates: [{q: {}, u: [{$set: {pad: {$concat: ["$pad", "q"]}, again: "$pad"}}], multi: true}]})",
        R"({n: 24, nModified: 24})");
  }
  SECTION("a removal") {
    at_least = 3;
    server.expect(R"({delete: "c", deletes: [{q: {}, limit: 0}]})", R"({n: 24})");
  }
  replication::LogReader reader(*server.services().store, *server.services().oplog);
  const auto records = reader.read(from, server.services().store->engine().all_committed(), SIZE_MAX);
  CHECK(records.size() >= at_least);
  size_t entries = 0;
  for (const auto& record : records) {
    entries += record.entries.size();
    CHECK(record.body->size() < 16 << 20);
  }
  CHECK(entries == 24);
}

TEST_CASE("deletes take one or all") {
  TestServer server;
  server.run(json(R"({insert: "c", documents: [{_id: 1, a: 1}, {_id: 2, a: 1}, {_id: 3, a: 2}]})"));
  server.expect(R"({delete: "c", deletes: [{q: {a: 1}, limit: 1}]})", R"({n: 1, ok: 1.0})");
  server.expect(R"({count: "c"})", R"({n: 2})");
  server.expect(R"({delete: "c", deletes: [{q: {}, limit: 0}]})", R"({n: 2})");
  server.expect(R"({delete: "none", deletes: [{q: {}, limit: 0}]})", R"({n: 0})");
  server.expect(R"({delete: "c", deletes: [{q: {}, limit: 2}]})",
                R"({ok: 0.0, code: 9, errmsg: "The limit field in delete objects must be 0 or 1. Got 2"})");
  server.expect(R"({delete: "c", deletes: [{q: {}}]})",
                R"({ok: 0.0, code: 40414, errmsg: "BSON field 'delete.deletes.limit' is missing but a required field"})");
}

TEST_CASE("findAndModify answers with the document before or after") {
  TestServer server;
  server.run(json(R"({insert: "c", documents: [{_id: 1, p: 3}, {_id: 2, p: 9}, {_id: 3, p: 5}]})"));
  server.expect(R"({findAndModify: "c", query: {}, sort: {p: -1}, update: {$set: {done: true}}})",
                R"({lastErrorObject: {n: 1, updatedExisting: true}, value: {_id: 2, p: 9}, ok: 1.0})");
  server.expect(R"({findAndModify: "c", query: {_id: 1}, update: {$inc: {p: 1}}, new: true, fields: {p: 1, _id: 0}})",
                R"({value: {p: 4}})");
  server.expect(R"({findandmodify: "c", query: {_id: 8}, update: {$inc: {p: 1}}, upsert: true})",
                R"({lastErrorObject: {n: 1, updatedExisting: false, upserted: 8}, value: null})");
  server.expect(R"({findAndModify: "c", query: {}, sort: {p: 1}, remove: true})",
                R"({lastErrorObject: {n: 1}, value: {_id: 8, p: 1}})");
  server.expect(R"({findAndModify: "c", query: {_id: 77}, update: {$set: {a: 1}}})",
                R"({lastErrorObject: {n: 0, updatedExisting: false}, value: null})");
  server.expect(R"({findAndModify: "c", query: {}})",
                R"({ok: 0.0, code: 9, errmsg: "Either an update or remove=true must be specified"})");
}

TEST_CASE("no increment is lost among threads that count in one document") {
  TestServer server;
  constexpr int threads = 8;
  constexpr int rounds = 100;
  std::atomic<int> failures{0};
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      for (int round = 0; round < rounds; ++round) {
        const auto reply = server.run(json(R"({findAndModify: "c", query: {_id: "n"}, update: {$inc: {n: 1}}, upsert: true})"));
        if (!reply["ok"].truthy()) ++failures;
      }
    });
  }
  for (auto& worker : workers) worker.join();
  CHECK(failures == 0);
  CHECK(server.documents(R"({find: "c"})") == "[{_id: \"n\", n: " + std::to_string(threads * rounds) + "}]");
}

TEST_CASE("a queue hands out each of its documents once") {
  TestServer server;
  bson::Builder insert;
  insert.append("insert", "q");
  {
    auto documents = insert.array("documents");
    for (int i = 0; i < 200; ++i) {
      auto document = documents.object();
      document.append("_id", i).append("state", "new");
    }
  }
  server.run(insert.done());
  std::atomic<int> taken{0};
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&] {
      for (;;) {
        const auto reply =
            server.run(json(R"({findAndModify: "q", query: {state: "new"}, sort: {_id: 1}, update: {$set: {state: "taken"}}})"));
        if (!reply["value"].is_object()) break;
        ++taken;
      }
    });
  }
  for (auto& worker : workers) worker.join();
  CHECK(taken == 200);
}

TEST_CASE("many threads that meet a collection that isn't there yet make one") {
  TestServer server;
  std::vector<std::thread> workers;
  std::atomic<int> inserted{0};
  for (int i = 0; i < 8; ++i) {
    workers.emplace_back([&, i] {
      const auto reply = server.run(json("{insert: 'fresh', documents: [{_id: " + std::to_string(i) + "}]}"));
      inserted += static_cast<int>(reply["n"].to_int64());
    });
  }
  for (auto& worker : workers) worker.join();
  CHECK(inserted == 8);
  server.expect(R"({count: "fresh"})", R"({n: 8})");
}

bool somebody_waits_for_a_schema(TestServer& server) {
  bool waits = false;
  server.services().operations.visit(
      [&](const OperationContext& op) { waits = waits || op.locks.waiting_to_read + op.locks.waiting_to_write > 0; });
  return waits;
}

TEST_CASE("an operation that waits while a collection is replaced goes on with the one that has the name then") {
  const std::pair<std::string, std::string> cases[] = {
      {R"({find: "c", filter: {a: 1}})", "firstBatch: [ { _id: 2"},
      {R"({count: "c", query: {a: 1}})", "n: 1"},
      {R"({distinct: "c", key: "_id"})", "values: [ 2 ]"},
      {R"({aggregate: "c", pipeline: [{$match: {a: 1}}], cursor: {}})", "firstBatch: [ { _id: 2"},
      {R"({update: "c", updates: [{q: {a: 1}, u: {$set: {b: 1}}, upsert: true}]})", "nModified: 1"},
      {R"({findAndModify: "c", query: {a: 1}, update: {$set: {b: 1}}, upsert: true})", "updatedExisting: true"},
      {R"({delete: "c", deletes: [{q: {a: 1}, limit: 0}]})", "n: 1"},
  };
  for (const auto& [command, expected] : cases) {
    INFO(command);
    TestServer server;
    server.expect(R"({insert: "c", documents: [{_id: 1, a: 1}]})", "{n: 1}");
    server.expect(R"({insert: "d", documents: [{_id: 2, a: 1}]})", "{n: 1}");
    std::thread client;
    bson::Document reply;
    bool waited = false;
    const auto first = [&](storage::Collection*, storage::Collection*) {
      client = std::thread([&] { reply = server.run(json(command)); });
      waited = base::testing::wait_until([&] { return somebody_waits_for_a_schema(server); });
    };
    server.services().store->catalog().rename("test.d", "test.c", true, first);
    client.join();
    REQUIRE(waited);
    const std::string text = bson::to_shell(reply.view());
    INFO(text);
    CHECK(text.find(expected) != text.npos);
    CHECK(server.run(json(R"({count: "c"})"))["n"].to_int64() == (command.starts_with("{delete") ? 0 : 1));
  }
}

TEST_CASE("a cursor ends when its collection gets another name") {
  for (const std::string open :
       {R"({find: "c", batchSize: 1})", R"({find: "c", filter: {a: {$gt: 0}}, hint: "a_1", batchSize: 1})",
        R"({aggregate: "c", pipeline: [{$match: {a: {$gt: 0}}}], cursor: {batchSize: 1}})"}) {
    INFO(open);
    TestServer server;
    server.expect(R"({createIndexes: "c", indexes: [{key: {a: 1}, name: "a_1"}]})", "{ok: 1.0}");
    server.expect(R"({insert: "c", documents: [{_id: 1, a: 1}, {_id: 2, a: 2}, {_id: 3, a: 3}]})", "{n: 3}");
    const int64_t id = server.run(json(open))["cursor"].as_document()["id"].as_int64();
    REQUIRE(id != 0);
    const auto more = [&](int64_t cursor) {
      bson::Builder command;
      command.append("getMore", cursor).append("collection", "c").append("batchSize", 1);
      return server.run(command.done());
    };
    CHECK(more(id)["ok"].to_int64() == 1);
    server.expect("admin", R"({renameCollection: "test.c", to: "secret.c"})", "{ok: 1.0}");
    const auto reply = more(id);
    CHECK(reply["code"].to_int64() == 175);
    const std::string_view message = reply["errmsg"].as_string();
    INFO(message);
    CHECK(message.find("collection renamed from 'test.c' to 'secret.c'. UUID ") != message.npos);
    CHECK(more(id)["code"].to_int64() == 43);
  }
}

TEST_CASE("collections are created, listed, renamed and dropped") {
  TestServer server;
  server.expect(R"({create: "c"})", R"({ok: 1.0})");
  server.expect(R"({create: "c"})", R"({ok: 1.0})");
  server.expect(R"({create: "c", capped: true, size: 4096})", R"({ok: 0.0, code: 48})");
  server.expect(R"({create: "l", capped: true, size: 5000, max: 10})", R"({ok: 1.0})");
  server.expect(R"({create: "v", timeseries: {timeField: "t"}})", R"({ok: 1.0})");
  server.expect(R"({drop: "v"})", R"({nIndexesWas: 0, ns: "test.v", ok: 1.0})");
  server.expect(R"({create: "x", capped: true})",
                R"({ok: 0.0, code: 72, errmsg: "the 'size' field is required when 'capped' is true"})");
  CHECK(server.documents(R"({listCollections: 1, nameOnly: true})") ==
        "[{name: \"c\", type: \"collection\"}, {name: \"l\", type: \"collection\"}]");
  server.expect(R"({listCollections: 1, filter: {name: "l"}})",
                R"({cursor: {id: {$numberLong: "0"}, ns: "test.$cmd.listCollections"}})");
  server.expect("admin", R"({renameCollection: "test.c", to: "test.d"})", R"({ok: 1.0})");
  server.expect("admin", R"({renameCollection: "test.c", to: "test.e"})", R"({ok: 0.0, code: 26})");
  server.expect("admin", R"({renameCollection: "test.d", to: "test.l"})", R"({ok: 0.0, code: 48})");
  server.expect(R"({renameCollection: "test.d", to: "test.l"})", R"({ok: 0.0, code: 13})");
  server.expect(R"({drop: "d"})", R"({nIndexesWas: 1, ns: "test.d", ok: 1.0})");
  server.expect(R"({drop: "d"})", R"({ok: 1.0})");
  server.expect(R"({dropDatabase: 1})", R"({dropped: "test", ok: 1.0})");
  server.expect(R"({dropDatabase: 1})", R"({ok: 1.0})");
}

TEST_CASE("indexes are created, listed, changed and dropped") {
  TestServer server;
  server.expect(R"({createIndexes: "c", indexes: [{key: {a: 1}, name: "a_1"}, {key: {b: -1}, name: "b", unique: true}]})",
                R"({numIndexesBefore: 1, numIndexesAfter: 3, createdCollectionAutomatically: true, ok: 1.0})");
  server.expect(R"({createIndexes: "c", indexes: [{key: {a: 1}, name: "a_1"}]})",
                R"({numIndexesBefore: 3, numIndexesAfter: 3, note: "all indexes already exist"})");
  server.expect(R"({createIndexes: "c", indexes: [{key: {a: 1}, name: "a_1", unique: true}]})", R"({ok: 0.0, code: 86})");
  server.expect(R"({createIndexes: "c", indexes: []})",
                R"({ok: 0.0, code: 2, errmsg: "Must specify at least one index to create"})");
  CHECK(server.documents(R"({listIndexes: "c"})").find("b") != std::string::npos);
  server.run(json(R"({insert: "c", documents: [{_id: 1, b: 1}]})"));
  server.expect(R"({insert: "c", documents: [{_id: 2, b: 1}]})",
                R"({n: 0, writeErrors: [{index: 0, code: 11000, keyPattern: {b: -1}, keyValue: {b: 1}}]})");
  server.expect(R"({collMod: "c", index: {name: "a_1", hidden: true}})", R"({hidden_old: false, hidden_new: true})");
  server.expect(R"({collMod: "c", cappedSize: 1000})", R"({ok: 0.0, code: 72, errmsg: "Collection must be capped."})");
  server.expect(R"({collMod: "c", validator: null, index: {name: "a_1", hidden: false}})",
                R"({hidden_old: true, hidden_new: false})");
  server.expect(R"({dropIndexes: "c", index: "_id_"})", R"({ok: 0.0, code: 72, errmsg: "cannot drop _id index"})");
  server.expect(R"({dropIndexes: "c", index: "nope"})", R"({ok: 0.0, code: 27, errmsg: "index not found with name [nope]"})");
  server.expect(R"({dropIndexes: "c", index: {a: 1}})", R"({nIndexesWas: 3, ok: 1.0})");
  server.expect(R"({deleteIndexes: "c", index: "*"})", R"({nIndexesWas: 2, msg: "non-_id indexes dropped for collection"})");
}

TEST_CASE("statistics show what is stored") {
  TestServer server;
  server.run(json(R"({insert: "c", documents: [{_id: 1}, {_id: 2}]})"));
  const auto size = std::to_string(2 * json("{_id: 1}").size());
  server.expect(R"({collStats: "c"})",
                "{ns: 'test.c', count: 2, size: " + size + ", nindexes: 1, capped: false, scaleFactor: 1}");
  server.expect(R"({collStats: "none"})", R"({ns: "test.none", count: 0, nindexes: 0})");
  server.expect(R"({dbStats: 1})", "{db: 'test', collections: 1, objects: 2, indexes: 1}");
  server.expect(R"({validate: "c", full: true})",
                R"({ns: "test.c", nrecords: 2, nIndexes: 1, keysPerIndex: {_id_: 2}, valid: true})");
  server.expect(R"({validate: "none"})", R"({ok: 0.0, code: 26})");
  server.expect("admin", R"({listDatabases: 1, filter: {name: "test"}, nameOnly: true})", R"({databases: [{name: "test"}]})");
  server.expect("admin", R"({fsync: 1})", R"({numFiles: 1})");
  const auto hash = [&](const char* collection) {
    const auto reply = server.run(json(std::string("{dbHash: 1, collections: ['") + collection + "']}"));
    return std::string(reply["collections"].as_document()[collection].as_string());
  };
  server.run(json(R"({insert: "d", documents: [{_id: 2}, {_id: 1}]})"));
  CHECK(hash("c").size() == 32);
  CHECK(hash("c") == hash("d"));
  server.run(json(R"({insert: "d", documents: [{_id: 3}]})"));
  CHECK(hash("c") != hash("d"));
}

TEST_CASE("documents go when their time has come") {
  TestServer server;
  server.run(json(R"({createIndexes: "c", indexes: [{key: {at: 1}, name: "at_1", expireAfterSeconds: 10}]})"));
  bson::Builder insert;
  insert.append("insert", "c");
  const int64_t now = server.services().clock.wall_ms();
  {
    auto documents = insert.array("documents");
    documents.object().append("_id", "old").append("at", bson::Date{now - 11'000});
    documents.object().append("_id", "new").append("at", bson::Date{now});
    documents.object().append("_id", "no date").append("at", 5);
    documents.object().append("_id", "without");
  }
  server.expect(insert.done(), R"({n: 4})");
  const Services& lent = server.services();
  ServerParameters parameters;  // the server has a monitor of its own, with these names
  Services services{lent.options,    lent.clock,    parameters,         lent.status,     lent.metrics,
                    lent.operations, lent.commands, lent.topology,      lent.sessions,   lent.fail_points,
                    lent.usage,      lent.profiler, lent.index_filters, lent.plan_cache, lent.memory};
  services.store = lent.store;
  services.cursors = lent.cursors;
  services.committer = lent.committer;
  services.databases = lent.databases;
  write::TtlMonitor monitor(services);
  {
    const auto receiving = lent.databases->receive_first("test"), again = lent.databases->receive_first("test");
    const auto other = lent.databases->receive_first("other");
    CHECK(monitor.run_pass() == 0);  // the first commit of another server's history comes, and has all of its documents
  }
  // Between two packs of it, nobody is at work. After an hour nobody waits for the next one.
  const auto came = [&](const char* db, int64_t at) {
    bson::Builder put;
    put.append("update", "system.arrivals");
    {
      auto updates = put.array("updates");
      auto one = updates.object();
      one.object("q").append("_id", db);
      one.object("u").append("_id", db).append("at", bson::Date{at});
      one.append("upsert", true);
    }
    server.run("admin", put.done());
  };
  for (const int64_t at : {now, now - 3'500'000, now + 3'500'000}) {
    came("test", at);
    CHECK(monitor.run_pass() == 0);
  }
  came("test", now - 3'600'000);
  came("other", now);
  CHECK(monitor.run_pass() == 1);
  CHECK(monitor.run_pass() == 0);
  server.expect(R"({count: "c"})", R"({n: 3})");
}

TEST_CASE("acknowledged writes are there after a crash") {
  storage::TemporaryDirectory copy;
  {
    TestServer server;
    for (int i = 0; i < 20; ++i) {
      server.expect("test", "{insert: 'c', documents: [{_id: " + std::to_string(i) + "}], writeConcern: {j: true}}", R"({n: 1})");
    }
    server.services().store->engine().wait_durable();
    server.directory().copy_to(copy);
  }
  TestServer revived(copy.path());
  revived.expect(R"({count: "c"})", R"({n: 20})");
  revived.expect(R"({validate: "c", full: true})", R"({valid: true, nrecords: 20})");
}

}  // namespace
}  // namespace server
