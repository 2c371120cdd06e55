// diff shows what it can, whatever the size.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "bson/builder.h"
#include "bson/json.h"
#include "server/commands/test_server.h"

namespace server {
namespace {

using bson::json;

// Replaces the document by another one, in a collection whose state before is committed; another document is inserted behind it.
void change(TestServer& server, bson::DocumentView before, bson::DocumentView after) {
  bson::Builder insert;
  insert.append("insert", "c").array("documents").append(before);
  CHECK(server.run(insert.done())["n"].to_int64() == 1);
  server.expect("{createBranch: 'dev'}", "{ok: 1.0}");
  bson::Builder update;
  update.append("update", "c");
  {
    auto updates = update.array("updates");
    updates.object().append("q", json("{_id: 1}")).append("u", after);
  }
  CHECK(server.run(update.done())["nModified"].to_int64() == 1);
  server.expect("{insert: 'c', documents: [{_id: 2}]}", "{n: 1}");
}

TEST_CASE("a document whose JSON patch is beyond all buffers is shown as too large, and those behind it follow") {
  TestServer server;
  const std::string name(8 << 20, 'n');
  const auto document = [&](int value) {
    bson::Builder out;
    out.append("_id", 1);
    {
      auto fields = out.object(name);
      for (int i = 0; i < 20; ++i) fields.append("f" + std::to_string(i), value);  // two operations each, with the whole path
    }
    return out.done();
  };
  change(server, document(1), document(2));
  server.expect("{diff: 1, format: 'jsonPatch'}",
                "{cursor: {firstBatch: [{collection: 'c', _id: 1, change: 'update', tooLarge: true}, "
                "{_id: 2, change: 'insert', patch: [{op: 'add', path: ''}]}]}, ok: 1.0}");
}

TEST_CASE("a document whose line is beyond all buffers is shown as too large, and those behind it follow") {
  TestServer server;
  // JSON writes such a character as six.
  const auto document = [](char c) { return bson::Builder().append("_id", 1).append("t", std::string(6 << 20, c)).done(); };
  change(server, document('\1'), document('\2'));
  const bson::Document reply = server.run(json("{diff: 1, format: 'lines'}"));
  std::vector<std::string> lines;
  for (const bson::Element& one : reply["cursor"].as_document()["firstBatch"].as_document())
    lines.emplace_back(one.as_document()["line"].as_string());
  CHECK(lines ==
        std::vector<std::string>{
            R"({"collection": "c", "_id": {"$numberInt": "1"}, "change": "update", "tooLarge": true})",
            R"({"collection": "c", "_id": {"$numberInt": "2"}, "change": "insert", "after": {"_id": {"$numberInt": "2"}}})"});
}

}  // namespace
}  // namespace server
