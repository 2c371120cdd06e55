// A blame may be far larger than its document, and takes little more memory than that.
#include <catch2/catch.hpp>

#include "bson/builder.h"
#include "bson/json.h"
#include "server/commands/test_server.h"
#include "server/core/memory.h"
#include "server/core/services.h"

namespace server {
namespace {

using bson::json;

constexpr size_t mb = 1 << 20;

// {_id: 1, <name>: {f0: 0, f1: 1, …}}
bson::Document insert_under_name(const std::string& name, int count) {
  bson::Builder out;
  out.append("insert", "c");
  {
    bson::ArrayBuilder documents = out.array("documents");
    bson::Builder document = documents.object();
    document.append("_id", 1);
    bson::Builder fields = document.object(name);
    for (int i = 0; i < count; ++i) fields.append("f" + std::to_string(i), i);
  }
  return out.done();
}

TEST_CASE("a blame makes one document after another") {
  TestServer server;
  const MemoryPool& memory = server.services().memory;
  const std::string name(200'000, 'x');
  constexpr int count = 100;
  REQUIRE(server.run(insert_under_name(name, count))["ok"].truthy());
  // All documents together have 40 MB.
  REQUIRE(server.run(json("{commit: 1, message: '" + std::string(200'000, 'm') + "'}"))["ok"].truthy());
  server.services().memory.limits().operation_bytes_max = 4 * mb;

  std::vector<std::string> paths;
  const auto read = [&](bson::DocumentView batch) {
    for (const auto& field : batch) {
      const bson::DocumentView document = field.as_document();
      paths.emplace_back(document["path"].as_string());
      CHECK(document["message"].as_string().size() == 200'000);
    }
  };
  bson::Document reply = server.run(json("{blame: 'c', _id: 1, cursor: {batchSize: 2}}"));
  REQUIRE(reply["ok"].truthy());
  read(reply["cursor"].as_document()["firstBatch"].as_document());
  REQUIRE(paths.size() == 2);
  // The cursor counts the document, and the fields.
  CHECK(memory.used() > name.size());
  for (int64_t id = reply["cursor"].as_document()["id"].to_int64(); id != 0;) {
    bson::Builder more;
    more.append("getMore", id).append("collection", "$cmd.blame").append("batchSize", 2);
    reply = server.run(more.done());
    REQUIRE(reply["ok"].truthy());
    read(reply["cursor"].as_document()["nextBatch"].as_document());
    id = reply["cursor"].as_document()["id"].to_int64();
  }
  REQUIRE(paths.size() == 1 + count);
  CHECK(paths.front() == "_id");
  CHECK(paths.back() == name + ".f99");
  CHECK(memory.used() == 0);
}

TEST_CASE("a blame of very many fields ends at the memory limit of an operation") {
  TestServer server;
  REQUIRE(server.run(insert_under_name("x", 50'000))["ok"].truthy());
  REQUIRE(server.run(json("{commit: 1}"))["ok"].truthy());
  const bson::Document blame = json("{blame: 'c', _id: 1, cursor: {batchSize: 1}}");
  CHECK(server.run(blame)["ok"].truthy());
  server.services().memory.limits().operation_bytes_max = 4 * mb;
  CHECK(server.run(blame)["code"].to_int64() == 146);
}

}  // namespace
}  // namespace server
