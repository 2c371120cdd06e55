// Timestamp(0, 0) in a top-level field means "now", unless the client asks to keep it.
#include <catch2/catch.hpp>

#include "bson/json.h"
#include "server/commands/test_server.h"

namespace server {
namespace {

using bson::json;

const char* const empty = "{$timestamp: {t: 0, i: 0}}";

// Returns whether the field of the one document in `c` is Timestamp(0, 0).
bool is_empty(TestServer& server, const std::string& field) {
  const auto reply = server.run(json("{find: 'c'}"));
  const auto batch = reply["cursor"].as_document()["firstBatch"].as_document();
  REQUIRE(batch.count() == 1);
  const auto value = batch.first().as_document().find(field);
  REQUIRE(value.type() == bson::Type::timestamp);
  return value.as_int64() == 0;
}

struct Write {
  const char* name;
  std::string command;   // without its last brace; EMPTY stands for Timestamp(0, 0)
  bool replaces = true;  // it inserts or replaces a document
};

const std::vector<Write>& writes() {
  static const std::vector<Write> all = {
      {"an insert", "{insert: 'c', documents: [{_id: 1, t: EMPTY}]"},
      {"an insert without _id", "{insert: 'c', documents: [{t: EMPTY}]"},
      {"an unordered insert", "{insert: 'c', ordered: false, documents: [{_id: 1, t: EMPTY}]"},
      {"an upserting replacement", "{update: 'c', updates: [{q: {_id: 1}, u: {t: EMPTY}, upsert: true}]"},
      {"an upserting findAndModify", "{findAndModify: 'c', query: {_id: 1}, update: {t: EMPTY}, upsert: true"},
      {"a $set", "{update: 'c', updates: [{q: {_id: 1}, u: {$set: {t: EMPTY}}, upsert: true}]", false},
      {"a pipeline", "{update: 'c', updates: [{q: {_id: 1}, u: [{$set: {t: {$literal: EMPTY}}}], upsert: true}]", false},
  };
  return all;
}

std::string with(const Write& write, const std::string& more) {
  std::string text = write.command + more + "}";
  for (size_t at; (at = text.find("EMPTY")) != std::string::npos;) text.replace(at, 5, empty);
  return text;
}

TEST_CASE("an empty timestamp becomes the time of the write") {
  for (const Write& write : writes()) {
    for (const char* more : {"", ", bypassEmptyTsReplacement: false", ", bypassEmptyTsReplacement: null"}) {
      INFO(write.name << more);
      TestServer server;
      server.expect(with(write, more), "{ok: 1.0}");
      CHECK(is_empty(server, "t") == !write.replaces);
    }
  }
}

TEST_CASE("an empty timestamp stays where the client wants it to") {
  for (const Write& write : writes()) {
    INFO(write.name);
    TestServer server;
    server.expect(with(write, ", bypassEmptyTsReplacement: true"), "{ok: 1.0}");
    CHECK(is_empty(server, "t"));
  }
}

TEST_CASE("a replacement keeps an empty timestamp where it is to, and changes nothing when it stood there") {
  TestServer server;
  const std::string replacement = std::string("u: {a: 1, t: ") + empty + "}}], bypassEmptyTsReplacement: true}";
  server.run(json("{insert: 'c', documents: [{_id: 1}]}"));
  server.expect("{update: 'c', updates: [{q: {_id: 1}, " + replacement, "{n: 1, nModified: 1}");
  CHECK(is_empty(server, "t"));
  server.expect("{update: 'c', updates: [{q: {_id: 1}, " + replacement, "{n: 1, nModified: 0}");
  server.expect(
      std::string("{findAndModify: 'c', query: {_id: 1}, update: {b: ") + empty + "}, new: true, bypassEmptyTsReplacement: true}",
      std::string("{value: {_id: 1, b: ") + empty + "}}");
}

TEST_CASE("the log has timestamps as they were stored") {
  for (const char* flag : {"false", "true"}) {
    TestServer server;
    server.run(
        json(std::string("{insert: 'c', documents: [{_id: 1, t: ") + empty + "}], bypassEmptyTsReplacement: " + flag + "}"));
    const auto log = server.run("local", json("{find: 'oplog.rs', filter: {ns: 'test.c', op: 'i'}, projection: {o: 1, _id: 0}}"));
    CHECK(bson::to_shell(log["cursor"].as_document()["firstBatch"].as_document().first().as_document().find("o")) ==
          bson::to_shell(server.run(json("{find: 'c'}"))["cursor"].as_document()["firstBatch"].as_document().first()));
  }
}

TEST_CASE("bypassEmptyTsReplacement is a boolean") {
  TestServer server;
  for (const Write& write : writes()) {
    for (const char* value : {"1", "'true'", "{}", "[]", "1.5"}) {
      INFO(write.name << " " << value);
      server.expect(with(write, std::string(", bypassEmptyTsReplacement: ") + value),
                    "{ok: 0.0, code: 14, codeName: 'TypeMismatch'}");
    }
  }
  server.expect("{insert: 'c', documents: [{_id: 1}], bypassEmptyTsReplacement: 'yes'}",
                "{errmsg: \"BSON field 'insert.bypassEmptyTsReplacement' is the wrong type 'string', expected type 'bool'\"}");
  server.expect("{delete: 'c', deletes: [{q: {}, limit: 0}], bypassEmptyTsReplacement: true}", "{ok: 0.0, code: 40415}");
  server.expect("{count: 'c'}", "{n: 0}");
}

}  // namespace
}  // namespace server
