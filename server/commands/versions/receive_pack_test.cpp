// Packs that somebody made up are refused, whatever they say, and nothing is left that the server can't live with.
#include <catch2/catch.hpp>

#include "base/hex.h"
#include "base/uuid.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "dedup/delta.h"
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

// Sends a first commit with one document.
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

// A Boundary makes a commit with one document. Its rows are the whole state, not changes, since its parent doesn't come.
struct Boundary {
  std::string document = "{_id: 1, a: 1}";
  std::string named = "{_id: 1, a: 1}";  // by the root
  bool shallow = true, names_root = true, without_rows = false;
  Bytes metadata = json("{message: 'boundary'}").bytes();
  pack::Row::Kind kind = pack::Row::Kind::insert;
  std::string branch = "dev";
};

bson::Document receive_boundary(TestServer& server, const Boundary& made) {
  const Bytes uuid(16, '\7');
  TestServer other;
  pack::Commit one{
      .time_ms = 5, .metadata = made.metadata, .parents = {versions::merkle::sha256("left out")}, .against = versions::Hash{}};
  one.roots.push_back({.uuid = uuid, .root = {}, .tree = {}});
  if (made.names_root) {
    // The root comes from a server that has the document.
    other.run("shop", json("{insert: 'c', documents: [" + made.named + "]}"));
    other.run("shop", json("{commit: 1}"));
    const bson::Document hash = other.run("shop", json("{dbHash: 1}"));
    one.roots[0].root = versions::merkle::read_hash(base::from_hex(hash.view()["roots"].as_document()["c"].as_string())->data());
  }
  one.id = pack::id_of(one);
  pack::PackWriter writer({.database = "shop",
                           .excluded = one.parents,
                           .refs = {{pack::Ref::Kind::branch, made.branch, one.id}},
                           .collections = {{.uuid = uuid, .name = "c", .options = json("{}")}}});
  writer.add(one);
  const Bytes document = json(made.document).bytes();
  if (!made.without_rows) writer.add(pack::Row{made.kind, 0, versions::key_of(document), document});
  writer.finish();
  bson::Builder command;
  command.append("receivePack", bson::Binary{4, base::random_uuid()}).append("pack", bson::Binary{0, writer.take()});
  command.append("last", true).append("shallow", made.shallow);
  {
    auto refs = command.array("refs");
    auto ref = refs.object();
    ref.append("branch", made.branch).append("commit", bson::Binary{0, versions::merkle::view(one.id)});
  }
  return server.run("shop", command.done());
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

// A view changes twice in one commit; the second row is a delta of the view before both.
TEST_CASE("a pack whose commit changes a view twice is refused, however much comes between") {
  const bson::Document before = json("{_id: 'shop.v', viewOn: 'c', pipeline: [{$match: {text: 'as it was'}}]}");
  const bson::Document between = json("{_id: 'shop.v', viewOn: 'c', pipeline: [{$match: {text: 'something'}}]}");
  const bson::Document after = json("{_id: 'shop.v', viewOn: 'c', pipeline: [{$match: {text: 'as it is'}}]}");
  for (const int others : {0, 5'000}) {
    TestServer server;
    const Bytes views(16, '\6'), uuid(16, '\7');
    pack::Commit first{.time_ms = 1, .metadata = json("{message: 'first'}").bytes()};
    for (const Bytes& one : {uuid, views}) first.roots.push_back({.uuid = one, .root = {}, .tree = {}});
    first.id = pack::id_of(first);
    pack::Commit second{.time_ms = 2, .metadata = first.metadata, .parents = {first.id}};
    for (const Bytes& one : {uuid, views})
      second.roots.push_back({.uuid = one, .root = versions::merkle::sha256("a root"), .tree = {}});
    second.id = pack::id_of(second);
    pack::PackWriter writer({.database = "shop",
                             .refs = {{pack::Ref::Kind::branch, "dev", second.id}},
                             .collections = {{.uuid = views, .name = "system.views", .options = json("{}")},
                                             {.uuid = uuid, .name = "c", .options = json("{}")}}});
    const Bytes key = versions::key_of(before.bytes());
    writer.add(first);
    writer.add(pack::Row{pack::Row::Kind::insert, 0, key, before.bytes()});
    writer.add(second);
    writer.add(pack::Row{pack::Row::Kind::replace, 0, key, between.bytes()});
    for (int i = 0; i < others; ++i) {
      const Bytes document = json("{_id: " + std::to_string(i) + "}").bytes();
      writer.add(pack::Row{pack::Row::Kind::insert, 1, versions::key_of(document), document});
    }
    writer.add(pack::Row{pack::Row::Kind::update, 0, key, dedup::encode(before.bytes(), after.bytes()).value()});
    writer.finish();
    bson::Builder command;
    command.append("receivePack", bson::Binary{4, base::random_uuid()}).append("pack", bson::Binary{0, writer.take()});
    command.append("last", true);
    const bson::Document reply = server.run("shop", command.done());
    CHECK(code(reply) == 9);
    CHECK(reply.view()["errmsg"].as_string().find("changes a document twice") != std::string_view::npos);
  }
}

TEST_CASE("a pack begins a shallow history where that is allowed, and may come again") {
  TestServer server;
  CHECK(code(receive_boundary(server, Boundary{.shallow = false})) == 20);
  server.expect("shop", "{listBranches: 1}", "{ok: 0, code: 26}");
  for (int i = 0; i < 2; ++i) REQUIRE(code(receive_boundary(server, Boundary{})) == 0);
  for (const char* state : {"shop", "shop@dev"}) {
    server.expect(state, "{find: 'c'}", "{cursor: {firstBatch: [{_id: 1, a: 1}]}, ok: 1}");
    server.expect(state, "{log: 1}", "{cursor: {firstBatch: [{message: 'boundary', shallow: true}]}, ok: 1}");
  }
  server.expect("shop@dev~1", "{find: 'c'}", "{ok: 0, code: 26}");
  server.expect("shop", "{versionStats: 1}", "{shallow: 1, ok: 1}");
}

TEST_CASE("a boundary with other documents than its root says is refused") {
  TestServer server;
  CHECK(code(receive_boundary(server, Boundary{.named = "{_id: 1, a: 2}"})) == 9);
  CHECK(code(receive_boundary(server, Boundary{.without_rows = true})) == 9);
  CHECK(code(receive_boundary(server, Boundary{.names_root = false})) == 9);
  CHECK(code(receive_boundary(server, Boundary{.kind = pack::Row::Kind::update})) == 96);
  CHECK(code(receive_boundary(server, Boundary{.metadata = json("{shallowRoot: true}").bytes()})) == 9);
  server.expect("shop@dev", "{find: 'c'}", "{ok: 0, code: 26}");
  REQUIRE(code(receive_boundary(server, Boundary{})) == 0);
}

TEST_CASE("a shallow history needs collections that are empty") {
  TestServer server;
  server.run("shop", json("{insert: 'd', documents: [{_id: 1, a: 2}]}"));
  CHECK(code(receive_boundary(server, Boundary{})) == 20);
  server.expect("shop", "{find: 'd'}", "{cursor: {firstBatch: [{_id: 1, a: 2}]}, ok: 1}");
}

TEST_CASE("commits that show a part of others are taken where such a history is or begins") {
  const auto made_from = [](const std::string& part) {
    return json("{message: 'part', madeFrom: {commit: '" + std::string(64, 'a') + "', " + part + "}}").bytes();
  };
  const Bytes part = made_from("collections: ['c'], filter: {c: {a: 1}}");
  for (const char* wrong :
       {"collections: []", "collections: ['d', 'c']", "collections: ['c'], filter: {}", "filter: {c: {a: 1}}",
        "collections: ['c'], filter: {c: {}}", "collections: ['c'], filter: {d: {a: 1}}", "collections: ['c'], filter: {c: 1}",
        "filter: {c: {a: 1}}, collections: ['c']", "collections: ['c'], more: 1"}) {
    TestServer server;
    CHECK(code(receive(server, {.metadata = made_from(wrong)})) == 9);
    CHECK(code(receive_boundary(server, Boundary{.metadata = made_from(wrong)})) == 9);
  }
  {
    TestServer server;
    REQUIRE(code(receive(server, {.metadata = part})) == 0);
    server.expect("shop", "{log: 1}", "{cursor: {firstBatch: [{madeFrom: {collections: ['c'], filter: {c: {a: 1}}}}]}, ok: 1}");
    CHECK(code(receive_boundary(server, Boundary{.metadata = part, .branch = "more"})) == 0);
    CHECK(code(receive_boundary(server, Boundary{.metadata = made_from("collections: ['c']"), .branch = "other"})) == 20);
  }
  {
    TestServer server;
    for (int i = 0; i < 2; ++i) REQUIRE(code(receive_boundary(server, Boundary{.metadata = part})) == 0);
  }
  TestServer server;
  REQUIRE(code(receive(server, {})) == 0);
  CHECK(code(receive_boundary(server, Boundary{.metadata = part, .branch = "more"})) == 20);
  server.expect("shop", "{packCommits: 1, filter: {c: {a: 1}}}", "{ok: 1}");
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
