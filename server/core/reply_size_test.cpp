#include "server/core/reply_size.h"

#include <catch2/catch.hpp>

#include "bson/builder.h"
#include "bson/json.h"
#include "server/commands/test_server.h"

namespace server {
namespace {

using bson::json;

constexpr size_t mb = 1 << 20;

// `count` documents {_id, g: _id % 2, s: a long string that differs}.
void fill(TestServer& server, const char* collection, int count, size_t bytes) {
  for (int i = 0; i < count; ++i) {
    bson::Builder document;
    document.append("_id", i).append("g", i % 2).append("s", std::string(bytes, static_cast<char>('a' + i % 26)));
    bson::Builder command;
    command.append("insert", collection);
    {
      auto documents = command.array("documents");
      documents.append(document.done());
    }
    REQUIRE(server.run(command.done())["n"].as_int32() == 1);
  }
}

int code_of(const bson::Document& reply) {
  return reply["ok"].truthy() ? 0 : reply["code"].as_int32();
}
int code_of(TestServer& server, const char* command) {
  return code_of(server.run(json(command)));
}

}  // namespace

TEST_CASE("no stage makes a document that is larger than a client may be handed") {
  TestServer server;
  fill(server, "c", 3, 6 * mb);
  const auto code = [&](const std::string& pipeline) {
    return code_of(server.run(json(R"({aggregate: "c", cursor: {}, pipeline: )" + pipeline + "}")));
  };
  CHECK(code(R"([{$group: {_id: null, all: {$push: "$s"}}}])") == 10334);
  CHECK(code(R"([{$group: {_id: null, all: {$push: "$s"}}}, {$project: {n: {$size: "$all"}}}])") == 0);
  CHECK(code(R"([{$match: {_id: 1}}, {$set: {t: "$s", u: "$s"}}])") == 10334);
  CHECK(code(R"([{$facet: {a: [{$match: {}}], b: [{$limit: 1}]}}])") == 10334);
  CHECK(code(R"([{$facet: {a: [{$match: {}}]}}, {$unwind: "$a"}])") == 0);
  CHECK(code(R"([{$limit: 1}, {$lookup: {from: "c", pipeline: [], as: "all"}}])") == 10334);
  CHECK(code(R"([{$limit: 1}, {$lookup: {from: "c", pipeline: [], as: "all"}}, {$project: {n: {$size: "$all"}}}])") == 0);
  CHECK(code(R"([{$group: {_id: 1, all: {$push: "$s"}}}, {$out: "o"}])") == 10334);
  CHECK(code(R"([{$group: {_id: 1, all: {$push: "$s"}}}, {$merge: "o"}])") == 10334);
  const auto reply =
      server.run(json(R"({aggregate: "c", cursor: {}, pipeline: [{$match: {_id: 1}}, {$set: {t: "$s", u: "$s"}}]})"));
  CHECK(reply["errmsg"].as_string().starts_with("PlanExecutor error during aggregation :: caused by :: BSONObj size: "));
  CHECK(reply["codeName"].as_string() == "BSONObjectTooLarge");
}

TEST_CASE("neither do projections, and a cursor that comes to such a document is gone") {
  TestServer server;
  fill(server, "c", 3, 6 * mb);
  CHECK(code_of(server, R"({find: "c", projection: {t: "$s", u: "$s", v: "$s"}})") == 10334);
  CHECK(code_of(server, R"({find: "c", projection: {t: "$s", u: "$s"}})") == 0);
  CHECK(
      code_of(server, R"({findAndModify: "c", query: {_id: 0}, update: {$set: {g: 5}}, fields: {t: "$s", u: "$s", v: "$s"}})") ==
      10334);
  CHECK(code_of(server, R"({distinct: "c", key: "s"})") == 17217);

  const auto first = server.run(json(R"({find: "c", batchSize: 1, sort: {_id: 1},
                                         projection: {t: "$s", u: "$s", v: {$cond: [{$eq: ["$_id", 1]}, "$s", 1]}}})"));
  REQUIRE(code_of(first) == 0);
  const auto id = first["cursor"].as_document()["id"].as_int64();
  REQUIRE(id != 0);
  bson::Builder more;
  more.append("getMore", id).append("collection", "c");
  const bson::Document get_more = more.done();
  CHECK(code_of(server.run(get_more)) == 10334);
  CHECK(code_of(server.run(get_more)) == 43);
}

TEST_CASE("batches end before 16 MB, whatever was asked for") {
  TestServer server;
  fill(server, "c", 40, mb);
  auto reply = server.run(json(R"({find: "c", batchSize: 1000})"));
  size_t seen = 0;
  for (const char* field = "firstBatch";; field = "nextBatch") {
    REQUIRE(code_of(reply) == 0);
    CHECK(reply.size() <= reply_bytes_max);
    const auto cursor = reply["cursor"].as_document();
    seen += cursor[field].as_document().count();
    const auto id = cursor["id"].as_int64();
    if (id == 0) break;
    bson::Builder more;
    more.append("getMore", id).append("collection", "c").append("batchSize", 1000);
    reply = server.run(more.done());
  }
  CHECK(seen == 40);
}

TEST_CASE("findAndModify changes nothing where it can't show what it is to show") {
  TestServer server;
  server.run(json(R"({insert: "c", documents: [{_id: 0, g: 1}, {_id: 1, g: 1}]})"));
  const std::string large = "fields: {large: {$range: [0, 3000000]}}";
  const auto refused = [&](const std::string& what) {
    INFO(what);
    CHECK(code_of(server, ("{findAndModify: 'c', " + what + ", " + large + "}").c_str()) == 10334);
  };
  refused("query: {_id: 0}, update: {$set: {g: 2}}");
  refused("query: {_id: 0}, update: {$set: {g: 2}}, new: true");
  refused("query: {g: 1}, sort: {_id: -1}, update: [{$set: {g: 2}}]");
  refused("query: {g: 1}, update: {g: 2}, new: true");
  refused("query: {_id: 0}, remove: true");
  refused("query: {g: 1}, remove: true");
  refused("query: {_id: 5}, update: {$set: {g: 2}}, upsert: true, new: true");
  server.expect("{find: 'c', sort: {_id: 1}}", "{cursor: {firstBatch: [{_id: 0, g: 1}, {_id: 1, g: 1}]}}");
  CHECK(code_of(server, ("{findAndModify: 'c', query: {_id: 5}, update: {$set: {g: 2}}, upsert: true, " + large + "}").c_str()) ==
        0);
}

TEST_CASE("a document of the largest size is handed out whole, and the log's entry of it, too") {
  TestServer server;
  bson::Builder probe;
  probe.append("_id", 0).append("g", 0).append("s", "");
  fill(server, "c", 1, bson::document_bytes_max - probe.done().size());
  CHECK(code_of(server, R"({find: "c"})") == 0);
  CHECK(code_of(server, R"({aggregate: "c", pipeline: [], cursor: {}})") == 0);
  CHECK(code_of(server, R"({findAndModify: "c", query: {}, update: {$set: {g: 1}}})") == 0);
  CHECK(code_of(server.run("local", json(R"({find: "oplog.rs", filter: {ns: "test.c"}})"))) == 0);
  CHECK(code_of(server, R"({find: "c", projection: {more: {$literal: "one"}, s: 1}})") == 10334);
}

TEST_CASE("a hundred thousand failed writes fit one reply") {
  TestServer server;
  server.run(json(R"({insert: "c", documents: [{_id: 1}]})"));
  bson::Builder command;
  command.append("insert", "c").append("ordered", false);
  {
    auto documents = command.array("documents");
    for (int i = 0; i < 100'000; ++i) documents.append(json("{_id: 1}"));
  }
  const auto reply = server.run(command.done());
  REQUIRE(code_of(reply) == 0);
  CHECK(reply.size() <= reply_bytes_max);
  const auto errors = reply["writeErrors"].as_document();
  CHECK(errors.count() == 100'000);
  CHECK(errors["0"].as_document()["errmsg"].as_string().starts_with("E11000"));
  CHECK(errors["99999"].as_document()["errmsg"].as_string().empty());
  CHECK(errors["99999"].as_document()["code"].as_int32() == 11000);
}

}  // namespace server
