#include "server/query/operation_view.h"

#include <catch2/catch.hpp>

#include "bson/builder.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "server/commands/test_server.h"
#include "server/core/client.h"
#include "server/core/command.h"
#include "server/core/command_registry.h"
#include "server/core/operation.h"
#include "server/core/services.h"

namespace server {
namespace {

// Returns what is shown of the command while it runs.
bson::Document shown(TestServer& server, const std::string& name, const bson::Document& body, bool whole) {
  Services& services = server.services();
  Client client(ClientId{1}, "127.0.0.1:1", "127.0.0.1:2", false);
  const Request request{name, "shop", body, {}};
  const OperationContext op(services, client, request, services.commands.find(name));
  MemoryBudget budget(&services.memory);
  Held held(budget);
  size_t bytes = 0;
  bson::Document command;
  for (const bson::Document& one : view_operations(services, {.whole_commands = whole}, held)) {
    CHECK(one.size() < 20'000);
    CHECK(bson::validate(one.bytes(), {.utf8 = true}).ok());
    bytes += one.size();
    if (one["opid"].as_int32() == op.id()) command = bson::Document(one["command"].as_document());
  }
  CHECK(held.bytes() == bytes);
  return command;
}

bson::Document find_of(size_t text_bytes) {
  bson::Builder out;
  out.append("find", "c");
  out.object("filter").append("a", std::string(text_bytes, 'x'));
  return out.append("comment", "behind").done();
}

}  // namespace

TEST_CASE("an operation's view has so much of its command as one may copy while no other operation can begin") {
  TestServer server;
  CHECK(shown(server, "find", find_of(500), false).bytes() == find_of(500).bytes());
  CHECK(shown(server, "find", find_of(10'000), true).bytes() == find_of(10'000).bytes());
  CHECK(bson::to_json(shown(server, "find", find_of(10'000), false)) ==
        R"({"find": "c", "filter": "<10013 bytes>", "comment": "behind"})");
  CHECK(bson::to_json(shown(server, "find", find_of(10'000'000), true)) ==
        R"({"find": "c", "filter": "<10000013 bytes>", "comment": "behind"})");
}

TEST_CASE("an operation's view ends within a command that has many fields, or long names") {
  TestServer server;
  for (const bool whole : {false, true}) {
    bson::Builder many, named;
    many.append("find", "c");
    for (int i = 0; i < 100'000; ++i) many.append("field" + std::to_string(i), "text");
    const bson::Document cut = shown(server, "find", many.done(), whole);
    CHECK(cut.has("field0"));
    CHECK(cut.has("$truncated"));
    named.append("find", "c").append(std::string(1'000'000, 'n'), 1);
    CHECK(shown(server, "find", named.done(), whole).has("$truncated"));
    bson::Builder collection;
    collection.append("find", std::string(1'000'000, 'c'));
    CHECK(bson::to_json(shown(server, "find", collection.done(), whole)) == R"({"find": "<1000005 bytes>"})");
  }
}

TEST_CASE("an operation's view has no secrets, however long they are, and is valid UTF-8") {
  TestServer server;
  for (const size_t bytes : {size_t{10}, size_t{1'000'000}}) {
    bson::Builder out;
    out.append("addRemote", "origin").append("uri", std::string(bytes, 's'));
    CHECK(bson::to_json(shown(server, "addRemote", out.done(), true)) == R"({"addRemote": "origin", "uri": "xxx"})");
  }
  bson::Builder out;
  out.append("find", "c");
  out.object("filter").append("\xff", "\xfe");
  CHECK(bson::to_json(shown(server, "find", out.done(), true)) == R"({"find": "c", "filter": {"\\xff": "\\xfe"}})");
}

}  // namespace server
