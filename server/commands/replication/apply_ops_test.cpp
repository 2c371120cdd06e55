// applyOps replays the oplog of a dump.
#include <catch2/catch.hpp>

#include <random>

#include "base/testing.h"
#include "bson/json.h"
#include "server/commands/test_server.h"

namespace server {
namespace {

void apply(TestServer& server, const std::string& entries, const std::string& reply) {
  server.expect("admin", "{applyOps: [" + entries + "]}", reply);
}

TEST_CASE("applyOps inserts, updates and deletes by _id") {
  TestServer server;
  server.expect(R"({create: "c"})", "{ok: 1}");
  apply(server, R"({op: "i", ns: "test.c", o: {_id: 1, a: 1, b: {c: 1}, gone: true}}, {op: "i", ns: "test.c", o: {_id: 2}})",
        "{applied: 2, results: [true, true], ok: 1}");
  apply(server,
        R"({op: "u", ns: "test.c", o2: {_id: 1}, o: {"$v": 2, diff: {d: {gone: false}, u: {a: 7}, i: {n: 1}, sb: {u: {c: 2}}}}})",
        "{applied: 1, results: [true], ok: 1}");
  CHECK(server.documents(R"({find: "c", filter: {_id: 1}})") == "[{_id: 1, a: 7, b: {c: 2}, n: 1}]");
  apply(server,
        R"({op: "u", ns: "test.c", o2: {_id: 1}, o: {_id: 1, whole: true}}, {op: "u", ns: "test.c", o2: {_id: 2}, )"
        R"(o: {"$set": {x: 5}}})",
        "{applied: 2, results: [true, true]}");
  CHECK(server.documents(R"({find: "c", sort: {_id: 1}})") == "[{_id: 1, whole: true}, {_id: 2, x: 5}]");
  apply(server, R"({op: "d", ns: "test.c", o: {_id: 1}}, {op: "n", ns: "", o: {msg: "x"}}, {op: "d", ns: "test.c", o: {_id: 1}})",
        "{applied: 2, results: [true, true]}");
  CHECK(server.documents(R"({find: "c"})") == "[{_id: 2, x: 5}]");
}

TEST_CASE("applyOps plays a stretch of a log over what already has a part of it") {
  TestServer server;
  server.expect(R"({create: "c"})", "{ok: 1}");
  const std::string stretch =
      R"({op: "i", ns: "test.c", o: {_id: 1, a: 1}}, {op: "u", ns: "test.c", o2: {_id: 1}, o: {"$v": 2, diff: {u: {a: 2}}}},
                                 {op: "i", ns: "test.c", o: {_id: 2, t: Timestamp(0, 0)}}, {op: "d", ns: "test.c", o: {_id: 3}},
                                 {op: "u", ns: "test.c", o2: {_id: 2}, o: {_id: 2, t: Timestamp(0, 0), n: 1}})";
  for (int i = 0; i < 3; ++i) {
    apply(server, stretch, "{applied: 5, results: [true, true, true, true, true]}");
    CHECK(server.documents(R"({find: "c", sort: {_id: 1}})") == "[{_id: 1, a: 2}, {_id: 2, t: Timestamp(0, 0), n: 1}]");
  }
}

TEST_CASE("a document that the log deletes later may be missing when it is updated") {
  TestServer server;
  server.expect(R"({create: "c"})", "{ok: 1}");
  apply(server,
        R"({op: "u", ns: "test.c", o2: {_id: 1}, o: {"$v": 2, diff: {u: {a: 2}}}}, {op: "u", ns: "test.c", )"
        R"(o2: {_id: 1}, o: {_id: 1, a: 3}},
                   {op: "u", ns: "test.c", o2: {_id: 1}, o: {"$set": {a: 4}}}, {op: "d", ns: "test.c", o: {_id: 1}})",
        "{applied: 4, results: [true, true, true, true], ok: 1}");
  CHECK(server.documents(R"({find: "c"})") == "[]");
}

TEST_CASE("applyOps runs a log's commands, and passes over what the data is past") {
  TestServer server;
  apply(server,
        R"({op: "c", ns: "test.$cmd", o: {create: "c", capped: true, size: 8192, idIndex: {v: 2, key: {_id: 1}, name: "_id_"}}})",
        "{applied: 1, results: [true]}");
  server.expect(R"({listCollections: 1})", R"({cursor: {firstBatch: [{name: "c", options: {capped: true, size: 8192}}]}})");
  server.expect(R"({create: "d"})", "{ok: 1}");
  server.expect(R"({createIndexes: "d", indexes: [{key: {a: 1}, name: "a_1"}]})", "{ok: 1}");
  apply(server, R"({op: "c", ns: "test.$cmd", o: {collMod: "d", index: {name: "a_1", hidden: true}}},
                   {op: "c", ns: "test.$cmd", o: {dropIndexes: "d", index: "a_1"}},
                   {op: "c", ns: "test.$cmd", o: {dropIndexes: "d", index: "a_1"}},
                   {op: "c", ns: "test.$cmd", o: {renameCollection: "test.d", to: "test.e", stayTemp: false}},
                   {op: "c", ns: "test.$cmd", o: {drop: "d"}}, {op: "c", ns: "test.$cmd", o: {drop: "c"}})",
        "{applied: 6, results: [true, true, true, true, true, true]}");
  server.expect(R"({listIndexes: "e"})", R"({cursor: {firstBatch: [{name: "_id_"}]}})");
  server.expect(R"({listCollections: 1, nameOnly: true})", R"({cursor: {firstBatch: [{name: "e"}]}})");
  server.expect(R"({create: "f"})", "{ok: 1}");
  apply(server,
        R"({op: "c", ns: "test.$cmd", o: {renameCollection: "test.e", to: "test.f", )"
        R"(dropTarget: UUID("00112233-4455-4677-8899-aabbccddeeff")}})",
        "{applied: 1, results: [true]}");
  apply(server,
        R"({op: "c", ns: "admin.$cmd", o: {applyOps: [{op: "i", ns: "test.f", o: {_id: 1}}, {op: "i", ns: "test.f", )"
        R"(o: {_id: 2}}]}})",
        "{applied: 2, results: [true, true]}");
  apply(server, R"({op: "c", ns: "test.$cmd", o: {dropDatabase: 1}})", "{applied: 1, results: [true]}");
  server.expect(R"({listCollections: 1, nameOnly: true})", R"({cursor: {firstBatch: []}})");
}

// Returns one command of a random history, as the shell would send it.
std::string random_command(std::mt19937_64& random, int step) {
  const auto number = [&random](int below) { return std::to_string(random() % static_cast<uint64_t>(below)); };
  const std::string collection = "c" + number(3), id = number(12), value = number(100);
  switch (random() % 12) {
    case 0: return "{create: '" + collection + "'}";
    case 1: return "{drop: '" + collection + "'}";
    case 2: return "{delete: '" + collection + "', deletes: [{q: {_id: " + id + "}, limit: 1}]}";
    case 3:
      return "{update: '" + collection + "', updates: [{q: {_id: " + id + "}, u: {_id: " + id + ", whole: " + value +
             "}, upsert: true}]}";
    case 4:
      return "{update: '" + collection + "', updates: [{q: {}, u: {$push: {list: {$each: [" + value +
             "], $slice: -4}}}, multi: true}]}";
    case 5:
      return "{update: '" + collection + "', updates: [{q: {_id: " + id + "}, u: {$unset: {text: 1}, $set: {'deep.er." + id +
             "': " + value + "}}, upsert: true}]}";
    case 6:
      return "{update: '" + collection + "', updates: [{q: {n: {$gt: " + value +
             "}}, u: [{$set: {n: {$add: ['$n', 1]}, made: " + number(5) + "}}], multi: true}]}";
    case 7: return "{delete: '" + collection + "', deletes: [{q: {n: {$lt: " + number(10) + "}}, limit: 0}]}";
    case 8: return "{collMod: '" + collection + "', dedup: {enabled: " + (step % 2 ? "true" : "false") + "}}";
    default:
      return "{insert: '" + collection + "', ordered: false, documents: [{_id: " + id + ", n: " + value +
             ", text: 'some text that stays " + value + "', deep: {er: {}, list: [1, {a: 2}]}}, {_id: 'x" + std::to_string(step) +
             "', zero: {t: Timestamp(0, 0)}}]}";
  }
}

TEST_CASE("the replay of any history on another server ends in the same state") {
  for (uint64_t round = 0; round < 8; ++round) {
    std::mt19937_64 random(base::testing::seed() + round);
    TestServer source, target;
    for (int step = 0; step < 120; ++step) source.run(bson::json(random_command(random, step)));
    const auto log = source.run("local", bson::json("{find: 'oplog.rs', sort: {$natural: 1}, batchSize: 100000}"));
    for (const auto& element : log["cursor"].as_document()["firstBatch"].as_document()) {
      bson::Builder entry;
      for (const auto& field : element.as_document()) {
        if (field.name != "ui") entry.append_element(field);
      }
      bson::Builder command;
      command.array("applyOps").append(entry.done());
      const auto reply = target.run("admin", command.done());
      INFO(bson::to_shell(element.as_document()) << " " << bson::to_shell(reply));
      REQUIRE(reply["ok"].truthy());
    }
    CHECK(bson::to_shell(source.run(bson::json("{dbHash: 1}"))["collections"]) ==
          bson::to_shell(target.run(bson::json("{dbHash: 1}"))["collections"]));
  }
}

TEST_CASE("an entry that fails is reported, and the others are applied") {
  TestServer server;
  server.expect(R"({create: "c"})", "{ok: 1}");
  server.expect(R"({createIndexes: "c", indexes: [{key: {u: 1}, name: "u_1", unique: true}]})", "{ok: 1}");
  apply(server,
        R"({op: "i", ns: "test.c", o: {_id: 1, u: 1}}, {op: "i", ns: "test.c", o: {_id: 2, u: 1}}, {op: "u", )"
        R"(ns: "test.c", o2: {_id: 9}, o: {"$v": 2, diff: {}}},
                   {op: "u", ns: "test.c", o2: {_id: 9}, o: {"$set": {u: 9}}},
                   {op: "u", ns: "test.c", o2: {_id: 8}, b: true, o: {"$set": {u: 8}}})",
        R"({ok: 0, code: 8, codeName: "UnknownError", errmsg: "applyOps had one or more errors applying ops", )"
        R"(applied: 5, results: [true, false, true, true, true]})");
  CHECK(server.documents(R"({find: "c", sort: {_id: 1}})") == "[{_id: 1, u: 1}, {_id: 8, u: 8}]");
  // An entry that can't be tried stops it.
  apply(server,
        R"({op: "i", ns: "test.c", o: {_id: 4, u: 4}}, {op: "i", ns: "test.missing", o: {_id: 1}}, {op: "i", )"
        R"(ns: "test.c", o: {_id: 5, u: 5}})",
        R"({ok: 0, code: 26, codeName: "NamespaceNotFound", applied: 2, results: [true, false]})");
  CHECK(server.documents(R"({find: "c", filter: {_id: {$in: [4, 5]}}})") == "[{_id: 4, u: 4}]");
  apply(server, R"({op: "d", ns: "test.missing", o: {_id: 1}})", "{applied: 1, results: [true]}");
}

TEST_CASE("an entry that applyOps doesn't take is refused") {
  TestServer server;
  server.expect(R"({create: "c"})", "{ok: 1}");
  server.expect(R"({insert: "c", documents: [{_id: 1, a: 1}]})", "{ok: 1}");
  server.expect("admin", R"({applyOps: 1})", R"({ok: 0, code: 14})");
  server.expect("admin", R"({applyOps: [1]})", R"({ok: 0, code: 14})");
  server.expect("admin", R"({applyOps: []})", R"({applied: 0, results: [], ok: 1})");
  server.expect("admin", R"({applyOps: [], alwaysUpsert: true})", R"({ok: 0, code: 6711601})");
  server.expect("admin", R"({applyOps: [], preCondition: []})", R"({ok: 0, code: 6711600})");
  server.expect("admin", R"({applyOps: [], prepare: true})", R"({ok: 0, code: 2})");
  server.expect("admin", R"({applyOps: [], partialTxn: true})", R"({ok: 0, code: 31056})");
  server.expect("admin", R"({applyOps: [], count: 1})", R"({ok: 0, code: 31240})");
  server.expect("admin", R"({applyOps: [], bypassDocumentValidation: "x"})", R"({ok: 0, code: 14})");
  server.expect("admin", R"({applyOps: [], other: 1})", R"({ok: 0, code: 40415})");
  apply(server, R"({ns: "test.c", o: {_id: 1}})",
        R"({ok: 0, code: 40414, errmsg: "BSON field 'OplogEntryBase.op' is missing but a required field"})");
  apply(server, R"({op: 1, ns: "test.c", o: {_id: 1}})", R"({ok: 0, code: 14})");
  apply(server, R"({op: "x", ns: "test.c", o: {_id: 1}})", R"({ok: 0, code: 2})");
  apply(server, R"({op: "i", o: {_id: 1}})", R"({ok: 0, code: 40414})");
  apply(server, R"({op: "i", ns: "test", o: {_id: 1}})", R"({ok: 0, code: 73})");
  apply(server, R"({op: "i", ns: "test.c", o: [1]})", R"({ok: 0, code: 14})");
  apply(server, R"({op: "i", ns: "test.c", o: {a: 1}})", R"({ok: 0, code: 4})");
  apply(server, R"({op: "d", ns: "test.c", o: {a: 1}})", R"({ok: 0, code: 4})");
  apply(server, R"({op: "u", ns: "test.c", o: {a: 1}})", R"({ok: 0, code: 40414})");
  apply(server, R"({op: "u", ns: "test.c", o2: {a: 1}, o: {a: 1}})", R"({ok: 0, code: 4})");
  apply(server, R"({op: "u", ns: "test.c", o2: {_id: 1}, o: {"$v": 1, "$set": {a: 2}}})", R"({ok: 0, code: 2})");
  apply(server, R"({op: "u", ns: "test.c", o2: {_id: 1}, o: {"$v": 2, diff: {u: {_id: 2}}}})",
        R"({ok: 0, code: 8, results: [false]})");
  apply(server, R"({op: "i", ns: "test.c", o: {_id: [1]}})", R"({ok: 0, code: 8, results: [false]})");
  apply(server, R"({op: "i", ns: "test.c", o: {_id: 1, b: {_id: 1}, _id: 2}})", R"({ok: 0, code: 8, results: [false]})");
  apply(server, R"({op: "i", ns: "test.c", ui: UUID("00112233-4455-4677-8899-aabbccddeeff"), o: {_id: 1}})",
        R"({ok: 0, code: 3318200})");
  apply(server, R"({op: "i", ns: "test.c", ui: 5, o: {_id: 1}})", R"({ok: 0, code: 207})");
  apply(server, R"({op: "i", ns: "local.oplog.rs", o: {_id: 1}})", R"({ok: 0, code: 73})");
  apply(server, R"({op: "c", ns: "test.c", o: {drop: "c"}})", R"({ok: 0, code: 73})");
  apply(server, R"({op: "c", ns: "test.$cmd", o: {}})", R"({ok: 0, code: 2})");
  apply(server, R"({op: "c", ns: "test.$cmd", o: {ping: 1}})", R"({ok: 0, code: 2})");
  apply(server, R"({op: "c", ns: "test.$cmd", o: {drop: 1}})", R"({ok: 0, code: 73})");
  apply(server, R"({op: "c", ns: "test.$cmd", o: {create: "x", other: 1}})", R"({ok: 0, code: 40415})");
  apply(server, R"({op: "c", ns: "test.$cmd", o: {createIndexes: "c", v: 2, key: {a: 1}, name: "a_1"}})",
        R"({ok: 0, code: 115, errmsg: "The createIndexes operation is not supported in applyOps mode"})");
  apply(server, R"({op: "c", ns: "test.$cmd", ui: UUID("00112233-4455-4677-8899-aabbccddeeff"), o: {create: "x"}})",
        R"({ok: 0, code: 115})");
  apply(server, R"({op: "i", ns: "test.c", o: {_id: 2}}, {op: "c", ns: "test.$cmd", o: {dropDatabase: 1}})",
        R"({ok: 0, code: 6275900})");
  std::string nested = R"({op: "n", ns: "", o: {}})";
  for (int i = 0; i < 12; ++i) nested = R"({op: "c", ns: "admin.$cmd", o: {applyOps: [)" + nested + "]}}";
  apply(server, nested, R"({ok: 0, code: 9})");
  CHECK(server.documents(R"({find: "c", sort: {_id: 1}})") == "[{_id: 1, a: 1}, {_id: 2}]");
}

}  // namespace
}  // namespace server
