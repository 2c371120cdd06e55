// Packs that somebody made up are refused, whatever they say, and nothing is left that the server can't live with.
#include <catch2/catch.hpp>

#include "base/uuid.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "server/commands/test_server.h"
#include "versions/branch/document_hash.h"
#include "versions/pack/pack_writer.h"

namespace server {
namespace {

using bson::json;
namespace pack = versions::pack;
using base::Bytes;

struct Made {
  std::string database = "shop", collection = "c", options = "{}", document = "{_id: 1, a: 1}";
  Bytes metadata = json("{message: 'first'}").bytes();
  Bytes key = {};
  pack::Row::Kind kind = pack::Row::Kind::insert;
  bool names_documents = false;
};

// A first commit with one document.
bson::Document receive(TestServer& server, const Made& made) {
  const Bytes uuid(16, '\7');
  pack::Commit first{.time_ms = 1, .metadata = made.metadata};
  first.roots.push_back({.uuid = uuid, .root = {}, .tree = {}});
  if (made.names_documents) first.roots[0].root.fill(1);
  first.id = pack::id_of(first);
  pack::PackWriter writer({.database = "shop",
                           .refs = {{pack::Ref::Kind::branch, "dev", first.id}},
                           .collections = {{.uuid = uuid, .name = made.collection, .options = json(made.options)}}});
  writer.add(first);
  const Bytes document = json(made.document).bytes();
  writer.add(pack::Row{made.kind, 0, made.key.empty() ? versions::key_of(document) : made.key, document});
  writer.finish();
  bson::Builder command;
  command.append("receivePack", bson::Binary{4, base::random_uuid()}).append("pack", bson::Binary{0, writer.take()});
  command.append("last", true);
  {
    auto refs = command.array("refs");
    auto one = refs.object();
    one.append("branch", "dev").append("commit", bson::Binary{0, versions::merkle::view(first.id)});
  }
  return server.run(made.database, command.done());
}

int64_t code(const bson::Document& reply) {
  const auto found = reply.view().find("code");
  return found.exists() ? found.to_int64() : 0;
}

}  // namespace

TEST_CASE("a pack begins a database, and may come again") {
  TestServer server;
  for (int i = 0; i < 2; ++i) REQUIRE(code(receive(server, {})) == 0);
  server.expect("shop@dev", "{find: 'c'}", "{cursor: {firstBatch: [{_id: 1, a: 1}]}, ok: 1}");
  server.expect("shop", "{log: 1}", "{cursor: {firstBatch: [{message: 'first'}]}, ok: 1}");
}

TEST_CASE("a pack that would change what the server keeps for itself is refused") {
  TestServer server;
  for (const char* database : {"admin", "config", "local"}) CHECK(code(receive(server, {.database = database})) == 20);
  for (const char* name : {"system.users", "system.profile", "system.remotes", "system.x"})
    CHECK(code(receive(server, {.collection = name})) == 9);
  CHECK(code(receive(server, {.collection = "a$b"})) == 73);
  CHECK(code(receive(server, {.collection = ""})) == 73);
  for (const char* options : {"{capped: true, size: 4096}", "{collation: {locale: 'de'}}", "{viewOn: 'd', pipeline: []}",
                              "{timeseries: {timeField: 't'}}"})
    CHECK(code(receive(server, {.options = options})) == 9);
  server.expect("shop", "{listCollections: 1}", "{cursor: {firstBatch: []}, ok: 1}");
}

TEST_CASE("a pack with documents or commits that nobody could have made is refused") {
  TestServer server;
  CHECK(code(receive(server, {.metadata = "text"})) == 9);
  CHECK(code(receive(server, {.metadata = json("{message: 5}").bytes()})) == 9);
  CHECK(code(receive(server, {.metadata = json("{commit: 'another'}").bytes()})) == 9);
  CHECK(code(receive(server, {.names_documents = true})) == 9);
  for (const char* document : {"{a: 1, _id: 1}", "{_id: [1]}", "{_id: /x/}"})
    CHECK(code(receive(server, {.document = document})) == 9);
  CHECK(code(receive(server, {.key = "another"})) == 9);
  CHECK(code(receive(server, {.kind = pack::Row::Kind::replace})) == 9);
  server.expect("shop", "{listBranches: 1}", "{ok: 0, code: 26}");
}

TEST_CASE("a pack of another history than the database's is refused") {
  TestServer server;
  server.run("shop", json("{insert: 'c', documents: [{_id: 1, a: 2}]}"));
  CHECK(code(receive(server, {})) == 20);
  server.run("shop", json("{commit: 1}"));
  CHECK(code(receive(server, {})) == 20);
  server.expect("shop", "{find: 'c'}", "{cursor: {firstBatch: [{_id: 1, a: 2}]}, ok: 1}");
}

}  // namespace server
