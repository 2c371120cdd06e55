// These tests run find and the commands after it.
#include <thread>

#include <catch2/catch.hpp>

#include "base/testing.h"
#include "server/query/test_support.h"
#include "storage/store.h"

namespace server::query {
namespace {

std::string fields(const bson::Document& reply, std::string_view array) {
  std::string text;
  for (const bson::Element& document : reply["cursor"].as_document()[array].as_document()) text += bson::to_json(document);
  return text;
}

int64_t cursor_id(const bson::Document& reply) {
  return reply["cursor"].as_document()["id"].as_int64();
}
size_t count(const bson::Document& reply, std::string_view array) {
  return reply["cursor"].as_document()[array].as_document().count();
}

void check_error(const bson::Document& reply, int32_t code, const std::string& message) {
  INFO(bson::to_json(reply));
  CHECK(reply["code"].to_int64() == code);
  CHECK(std::string(reply["errmsg"].is_string() ? reply["errmsg"].as_string() : "") == message);
}

void fill(TestServer& server, int count) {
  for (int i = 0; i < count; ++i) {
    server.insert("c", bson::json("{_id: " + std::to_string(i) + ", a: " + std::to_string(i % 10) + ", tags: ['t" +
                                  std::to_string(i % 3) + "', 'all']}"));
  }
}

TEST_CASE("find hands out 101 documents and getMore the rest") {
  TestServer server;
  fill(server, 250);
  const auto first = server.run("{find: 'c'}");
  CHECK(count(first, "firstBatch") == 101);
  const int64_t id = cursor_id(first);
  REQUIRE(id != 0);
  const auto next = server.run("{getMore: {$numberLong: '" + std::to_string(id) + "'}, collection: 'c', batchSize: 100}");
  CHECK(count(next, "nextBatch") == 100);
  CHECK(cursor_id(next) == id);
  const auto last = server.run("{getMore: {$numberLong: '" + std::to_string(id) + "'}, collection: 'c'}");
  CHECK(count(last, "nextBatch") == 49);
  CHECK(cursor_id(last) == 0);
  check_error(server.run("{getMore: {$numberLong: '" + std::to_string(id) + "'}, collection: 'c'}"), 43,
              "cursor id " + std::to_string(id) + " not found");
}

TEST_CASE("limits, single batches and found _ids leave no cursor behind") {
  TestServer server;
  fill(server, 250);
  CHECK(cursor_id(server.run("{find: 'c', limit: 5}")) == 0);
  CHECK(cursor_id(server.run("{find: 'c', singleBatch: true}")) == 0);
  CHECK(cursor_id(server.run("{find: 'c', filter: {_id: 5}, batchSize: 1}")) == 0);
  CHECK(cursor_id(server.run("{find: 'c', batchSize: 0}")) != 0);
  CHECK(server.cursors().counts().open == 1);
  CHECK(count(server.run("{find: 'c', skip: 245}"), "firstBatch") == 5);
}

TEST_CASE("killCursors reports which it knew") {
  TestServer server;
  fill(server, 250);
  const std::string id = std::to_string(cursor_id(server.run("{find: 'c'}")));
  const auto other = server.run("{killCursors: 'other', cursors: [{$numberLong: '" + id + "'}]}");
  CHECK(other["cursorsNotFound"].as_document().count() == 1);
  const auto killed = server.run("{killCursors: 'c', cursors: [{$numberLong: '" + id + "'}, {$numberLong: '7'}]}");
  CHECK(killed["cursorsKilled"].as_document().count() == 1);
  CHECK(killed["cursorsNotFound"].as_document().count() == 1);
  CHECK(killed["cursorsAlive"].as_document().empty());
  CHECK(server.cursors().counts().open == 0);
}

TEST_CASE("forgotten cursors go away, but for those that must not") {
  base::testing::StoppedClock clock;
  TestServer server(clock);
  fill(server, 250);
  server.run("{find: 'c'}");
  server.run("{find: 'c', noCursorTimeout: true}");
  clock.advance(std::chrono::milliseconds(599'999));
  CHECK(server.cursors().expire() == 0);
  clock.advance(std::chrono::milliseconds(1));
  CHECK(server.cursors().expire() == 1);
  CHECK(server.cursors().counts().open == 1);
}

TEST_CASE("a cursor whose collection is dropped is at its end, with an error") {
  TestServer server;
  fill(server, 250);
  const std::string id = std::to_string(cursor_id(server.run("{find: 'c'}")));
  server.store().catalog().drop("test.c");
  const auto reply = server.run("{getMore: {$numberLong: '" + id + "'}, collection: 'c'}");
  CHECK(reply["code"].to_int64() == 175);
  CHECK(server.cursors().counts().open == 0);
}

TEST_CASE("count and distinct") {
  TestServer server;
  fill(server, 30);
  CHECK(server.run("{count: 'c'}")["n"].as_int32() == 30);
  CHECK(server.run("{count: 'c', query: {a: 3}}")["n"].as_int32() == 3);
  CHECK(server.run("{count: 'c', skip: 25}")["n"].as_int32() == 5);
  CHECK(server.run("{count: 'c', limit: -4}")["n"].as_int32() == 4);
  CHECK(server.run("{count: 'c', query: {a: {$gt: 2}}, skip: 1, limit: 100}")["n"].as_int32() == 20);
  CHECK(server.run("{count: 'none'}")["n"].as_int32() == 0);
  CHECK(bson::to_json(server.run("{distinct: 'c', key: 'tags'}")["values"]) == R"(["t0", "all", "t1", "t2"])");
  CHECK(server.run("{distinct: 'c', key: 'a', query: {a: {$lt: 4}}}")["values"].as_document().count() == 4);
  CHECK(server.run("{distinct: 'none', key: 'a'}")["values"].as_document().empty());
  check_error(server.run("{distinct: 'c'}"), 40414, "BSON field 'distinct.key' is missing but a required field");
}

TEST_CASE("a tailable cursor sees what is appended") {
  TestServer server;
  storage::CollectionOptions options;
  options.capped = true;
  options.capped_bytes = 1 << 20;
  options.document = bson::json("{capped: true, size: 1048576}");
  server.store().catalog().create("test.log", options);
  server.insert("log", "{_id: 1}");
  const auto first = server.run("{find: 'log', tailable: true, awaitData: true}");
  const std::string id = std::to_string(cursor_id(first));
  REQUIRE(id != "0");
  const std::string get_more = "{getMore: {$numberLong: '" + id + "'}, collection: 'log', maxTimeMS: 100}";
  CHECK(count(server.run(get_more), "nextBatch") == 0);
  server.insert("log", "{_id: 2}");
  CHECK(fields(server.run(get_more), "nextBatch") == R"({"_id": 2})");
  std::thread writer([&] {
    base::testing::wait_until([&] { return server.services().operations.size() > 0; });
    server.insert("log", "{_id: 3}");
  });
  const auto awaited = server.run("{getMore: {$numberLong: '" + id + "'}, collection: 'log', maxTimeMS: 600000}");
  writer.join();
  CHECK(fields(awaited, "nextBatch") == R"({"_id": 3})");
  check_error(server.run("{find: 'c2', tailable: true, sort: {a: 1}}"), 2,
              "cannot use tailable option with a sort other than {$natural: 1}");
}

TEST_CASE("returnKey, showRecordId, min and max") {
  TestServer server;
  fill(server, 30);
  server.create_index("c", "a_1", "{key: {a: 1}}");
  CHECK(fields(server.run("{find: 'c', filter: {a: 3}, returnKey: true, limit: 1}"), "firstBatch") == R"({"a": 3})");
  CHECK(fields(server.run("{find: 'c', filter: {_id: 3}, projection: {_id: 1}, showRecordId: true}"), "firstBatch") ==
        R"({"_id": 3, "$recordId": 4})");
  CHECK(count(server.run("{find: 'c', hint: 'a_1', min: {a: 2}, max: {a: 4}}"), "firstBatch") == 6);
  CHECK(server.run("{find: 'c', min: {a: 2}}")["code"].to_int64() == 51173);
  CHECK(server.run("{find: 'c', hint: 'a_1', min: {b: 2}}")["code"].to_int64() == 51174);
  CHECK(server.run("{find: 'c', hint: 'a_1', min: {a: 4}, max: {a: 2}}")["code"].to_int64() == 51175);
  CHECK(server.run("{find: 'c', hint: 'zz'}")["code"].to_int64() == 2);
}

TEST_CASE("a bad find is refused in MongoDB's words") {
  TestServer server;
  fill(server, 1);
  check_error(server.run("{find: 'c', limit: 'x'}"), 14,
              "BSON field 'FindCommandRequest.limit' is the wrong type 'string', expected types '[long, int, decimal, double']");
  check_error(server.run("{find: 'c', filter: 'x'}"), 14,
              "BSON field 'FindCommandRequest.filter' is the wrong type 'string', expected type 'object'");
  check_error(server.run("{find: 'c', skip: -1}"), 51024, "BSON field 'skip' value must be >= 0, actual value '-1'");
  check_error(server.run("{find: 'c', foo: 1}"), 40415, "BSON field 'FindCommandRequest.foo' is an unknown field.");
  check_error(server.run("{find: 'c', awaitData: true}"), 9, "Cannot set 'awaitData' without also setting 'tailable'");
  check_error(server.run("{find: 'c', tailable: true}"), 2,
              "error processing query: ns=test.c tailable cursor requested on non capped collection");
  check_error(server.run("{find: 'c', hint: 5}"), 9, "Hint must be a string or an object");
  check_error(server.run("{find: 'c', filter: {a: {$foo: 1}}}"), 2, "unknown operator: $foo");
}

TEST_CASE("options that can't go together are refused whether the collection is there or not") {
  TestServer server;
  fill(server, 1);
  for (const std::string name : {"c", "nothing"}) {
    INFO(name);
    const auto find = [&](const std::string& options) { return server.run("{find: '" + name + "', " + options + "}"); };
    const std::string no_hint = "When using min()/max() a hint of which index to use must be provided";
    check_error(find("min: {a: 1}"), 51173, no_hint);
    check_error(find("max: {a: 1}, hint: {}"), 51173, no_hint);
    check_error(find("max: {a: 1}, hint: {$natural: 1}"), 51173, no_hint);
    check_error(find("min: {a: 1}, max: {b: 1}, hint: {a: 1}"), 51176, "min and max must have the same field names");
    check_error(find("min: {a: 1, b: 1}, max: {a: 1}, hint: {a: 1}"), 51176, "min and max must have the same field names");
    check_error(find("min: 5"), 14, "BSON field 'FindCommandRequest.min' is the wrong type 'int', expected type 'object'");
    check_error(find("sort: {$natural: 2}"), 2, "$natural sort cannot be set to a value other than -1 or 1.");
    check_error(find("hint: {$natural: 'x'}"), 2, "$natural hint cannot be set to a value other than -1 or 1.");
    check_error(find("tailable: true, sort: {a: 1}"), 2, "cannot use tailable option with a sort other than {$natural: 1}");
    check_error(find("tailable: true, sort: {$natural: -1}"), 2,
                "cannot use tailable option with a sort other than {$natural: 1}");
    check_error(find("tailable: true, sort: {$natural: 1, a: 1}"), 2,
                "cannot use tailable option with a sort other than {$natural: 1}");
    check_error(find("tailable: true, singleBatch: true"), 2, "cannot use tailable option with the 'singleBatch' option");
    check_error(find("awaitData: true"), 9, "Cannot set 'awaitData' without also setting 'tailable'");
  }
  check_error(server.run("{find: 'c', min: {b: 1}, hint: {_id: 1}}"), 51174,
              "error processing query: ns=test.c: planner returned error :: caused by :: The index chosen is not compatible with "
              "min/max");
  check_error(server.run("{find: 'c', min: {_id: 1, b: 1}, hint: {_id: 1}}"), 51174,
              "error processing query: ns=test.c: planner returned error :: caused by :: The index chosen is not compatible with "
              "min/max");
  check_error(server.run("{find: 'c', min: {_id: 5}, max: {_id: 5}, hint: '_id_'}"), 51175,
              "error processing query: ns=test.c: planner returned error :: caused by :: The value provided for min() does not "
              "come before the value "
              "provided for max() in the hinted index");
  CHECK(server.run("{find: 'nothing', tailable: true}")["cursor"].as_document()["id"].to_int64() == 0);
}

TEST_CASE("a collation is checked before anything is read") {
  TestServer server;
  fill(server, 1);
  for (const std::string name : {"c", "nothing"}) {
    const std::string commands[] = {"find: '" + name + "'", "count: '" + name + "'", "distinct: '" + name + "', key: 'a'",
                                    "aggregate: '" + name + "', pipeline: [], cursor: {}"};
    for (const std::string& command : commands) {
      INFO(command);
      const auto with = [&](const std::string& collation) {
        return server.run("{" + command + ", collation: " + collation + "}");
      };
      check_error(with("{locale: 'zz_nope'}"), 2, "Field 'locale' is invalid in: { locale: \"zz_nope\" }");
      check_error(with("{locale: ''}"), 2, "Field 'locale' is invalid in: { locale: \"\" }");
      check_error(with("{strength: 1}"), 40414, "BSON field 'collation.locale' is missing but a required field");
      check_error(with("{locale: 5}"), 14, "BSON field 'collation.locale' is the wrong type 'int', expected type 'string'");
      check_error(with("'en'"), 14, "BSON field 'collation' is the wrong type 'string', expected type 'object'");
      check_error(with("{locale: 'en', odd: 1}"), 40415, "BSON field 'collation.odd' is an unknown field.");
      check_error(with("{locale: 'en', strength: 6}"), 2,
                  "Enumeration value '6' for field 'collation.strength' is not a valid value.");
      check_error(with("{locale: 'en', caseFirst: 'odd'}"), 2,
                  "Enumeration value 'odd' for field 'collation.caseFirst' is not a valid value.");
      check_error(with("{locale: 'simple', strength: 1}"), 2,
                  "If locale=simple, no other fields should be present in: { locale: \"simple\", strength: 1 }");
      CHECK(with("{locale: 'de_AT'}")["ok"].to_double() == 1);
      CHECK(with("{locale: 'simple'}")["ok"].to_double() == 1);
      CHECK(with("{}")["ok"].to_double() == 1);
    }
  }
}

TEST_CASE("a read preference is checked on every command") {
  TestServer server;
  for (const std::string command : {"find: 'nothing'", "count: 'nothing'", "ping: 1"}) {
    INFO(command);
    const auto with = [&](const std::string& preference) {
      return server.run("{" + command + ", $readPreference: " + preference + "}");
    };
    check_error(with("{mode: 'odd'}"), 2, "Enumeration value 'odd' for field 'readPreference.mode' is not a valid value.");
    check_error(with("{mode: 5}"), 14, "BSON field 'readPreference.mode' is the wrong type 'int', expected type 'string'");
    check_error(with("{}"), 40414, "BSON field 'readPreference.mode' is missing but a required field");
    check_error(with("'primary'"), 14, "$readPreference has incorrect type: expected object but got string");
    check_error(with("{mode: 'primary', tags: [{a: 'b'}]}"), 2, "Only empty tags are allowed with primary read preference");
    check_error(with("{mode: 'primary', maxStalenessSeconds: 90}"), 2, "maxStalenessSeconds can not be set for the primary mode");
    check_error(with("{mode: 'nearest', maxStalenessSeconds: -5}"), 51024,
                "BSON field 'maxStalenessSeconds' value must be >= 0, actual value '-5'");
    check_error(with("{mode: 'nearest', tags: 5}"), 14,
                "BSON field 'readPreference.tags' is the wrong type 'int', expected type 'array'");
    for (const char* mode : {"primary", "primaryPreferred", "secondary", "secondaryPreferred", "nearest"}) {
      CHECK(with("{mode: '" + std::string(mode) + "', tags: [{}]}")["ok"].to_double() == 1);
    }
    CHECK(with("{mode: 'nearest', tags: [{a: 'b'}, {}], maxStalenessSeconds: 120, hedge: {}}")["ok"].to_double() == 1);
  }
}

// Collects the paths of values below `value` that are no Int32.
void find_wide(const bson::ValueView& value, const std::string& path, std::vector<std::string>& wide) {
  if (value.type() == bson::Type::int64 || value.type() == bson::Type::number_double) wide.push_back(path);
  if (!value.is_object() && !value.is_array()) return;
  for (const bson::Element& field : value.as_document()) find_wide(field, path + "." + std::string(field.name), wide);
}

TEST_CASE("explain's numbers are Int32") {
  TestServer server;
  fill(server, 30);
  server.create_index("c", "a_1", "{key: {a: 1}}");
  server.create_index("c", "b_1", "{key: {b: 1}}");
  for (const char* command :
       {"find: 'c', filter: {a: 3, b: {$gt: 1}}, sort: {_id: -1}, skip: 1, limit: 5", "find: 'c', filter: {_id: 1}",
        "find: 'nothing'", "find: 'c', filter: {$or: [{a: 1}, {b: 2}]}", "count: 'c', query: {a: 1}", "count: 'c'",
        "distinct: 'c', key: 'a'", "update: 'c', updates: [{q: {a: 3}, u: {$set: {z: 1}}}]",
        "delete: 'c', deletes: [{q: {a: 3}, limit: 0}]", "aggregate: 'c', pipeline: [{$match: {a: 3}}], cursor: {}"}) {
    INFO(command);
    const auto reply = server.run("{explain: {" + std::string(command) + "}, verbosity: 'allPlansExecution'}");
    INFO(bson::to_json(reply));
    REQUIRE(reply["ok"].to_double() == 1);
    std::vector<std::string> wide;
    for (const bson::Element& field : reply) {
      if (field.name == "queryPlanner" || field.name == "executionStats" || field.name == "serverParameters")
        find_wide(field, std::string(field.name), wide);
    }
    std::erase_if(wide, [](const std::string& path) { return path.ends_with(".score"); });
    CHECK(wide == std::vector<std::string>());
    std::string names;
    for (const bson::Element& field : reply) names += std::string(field.name) + " ";
    CHECK(names == "explainVersion queryPlanner executionStats command serverInfo serverParameters ok ");
    CHECK(reply["command"].as_document()["$db"].as_string() == "test");
  }
}

TEST_CASE("explain counts what was done") {
  TestServer server;
  fill(server, 30);
  server.create_index("c", "a_1", "{key: {a: 1}}");
  const auto reply = server.run("{explain: {find: 'c', filter: {a: 3, tags: 't0'}}, verbosity: 'executionStats'}");
  INFO(bson::to_json(reply));
  const auto stats = reply["executionStats"].as_document();
  CHECK(stats["nReturned"].to_int64() == 1);
  CHECK(stats["totalKeysExamined"].to_int64() == 3);
  CHECK(stats["totalDocsExamined"].to_int64() == 3);
  CHECK(stats.has("dedupHops"));
  const auto scan = stats["executionStages"].as_document()["inputStage"].as_document();
  CHECK(bson::to_json(scan["indexBounds"]) == R"({"a": ["[3, 3]"]})");
  const auto update =
      server.run("{explain: {update: 'c', updates: [{q: {a: 3}, u: {$set: {b: 1}}, multi: true}]}, verbosity: 'executionStats'}");
  CHECK(update["executionStats"].as_document()["executionStages"].as_document()["nMatched"].to_int64() == 3);
  const auto fast = server.run("{explain: {count: 'c'}, verbosity: 'executionStats'}");
  CHECK(bson::to_json(fast["queryPlanner"].as_document()["winningPlan"].as_document()) ==
        R"({"stage": "RECORD_STORE_FAST_COUNT"})");
  CHECK(fast["executionStats"].as_document()["executionStages"].as_document()["nCounted"].to_int64() == 30);
  CHECK(server.run("{explain: {ping: 1}}")["code"].to_int64() == 20);
  CHECK(server.run("{explain: {find: 'c'}, verbosity: 'loud'}")["code"].to_int64() == 2);
}

}  // namespace
}  // namespace server::query
