// The filters of diff, log and packCommits work for their operation: they take from its memory, and end with it.
#include <catch2/catch.hpp>

#include "base/testing.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "server/commands/test_server.h"
#include "server/core/client.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/branches/differences.h"
#include "versions/database/databases.h"

namespace server {
namespace {

using bson::json;
constexpr int interrupted = 11601;

int code(const bson::Document& reply) {
  return reply["ok"].truthy() ? 0 : static_cast<int>(reply["code"].to_int64());
}

TEST_CASE("what is made of a filter over versions is in its operation's memory") {
  constexpr int no_memory = 146;
  TestServer server;
  server.expect("{insert: 'c', documents: [{_id: 1}]}", "{n: 1}");
  server.expect("{createBranch: 'dev'}", "{ok: 1.0}");
  server.expect("{insert: 'c', documents: [{_id: 2}]}", "{n: 1}");
  server.expect("{commit: 1}", "{ok: 1.0}");
  const std::string filter = "{a: '" + std::string(10'000, 'a') + "'}";  // it counts ten times its bytes
  for (const std::string& command : {
           "{diff: 1, filter: " + filter + "}",
           "{log: 1, filter: " + filter + "}",
           "{log: 1, touching: {coll: 'c', filter: " + filter + "}}",
           "{packCommits: 1, filter: {c: " + filter + "}}",
       }) {
    INFO(command.substr(0, 60));
    auto& bytes_max = server.services().memory.limits().operation_bytes_max;
    const int64_t usual = bytes_max;
    CHECK(code(server.run(json(command))) == 0);
    bytes_max = 50'000;
    CHECK(code(server.run(json(command))) == no_memory);
    bytes_max = usual;
  }
}

// Looks for differences in an operation that goes on, while the filters and projections account to one that was killed.
int looked(TestServer& server, const query::Differences::What& what) {
  const bson::Document body = json("{diff: 1}");
  const Request request{"diff", "test", body, {}};
  Client client(ClientId{1}, "", "", false);
  OperationContext op(server.services(), client, request, nullptr), killed(server.services(), client, request, nullptr);
  OperationContext* current = nullptr;
  Allowance allowance(current, nullptr);
  return base::testing::code_of([&] {
    query::Differences differences(op, server.services().databases->find("test"), what, allowance);
    killed.kill();
    current = &killed;
    while (differences.next()) {
    }
  });
}

TEST_CASE("differences of long documents end while one of them is looked at") {
  TestServer server;
  server.expect("{create: 'c'}", "{ok: 1.0}");
  server.expect("{createBranch: 'dev'}", "{ok: 1.0}");
  bson::Builder command;
  command.append("insert", "c");
  {
    auto documents = command.array("documents");
    auto document = documents.object();
    document.object("_id").append("t", std::string(20'000, 'x'));
    auto list = document.array("l");
    for (int i = 0; i < 10'000; ++i) list.append(i);
  }
  CHECK(server.run(command.done())["n"].to_int64() == 1);

  query::Differences::What what;
  what.to = versions::ref_of_database("test");
  what.from_last_commit = true;
  CHECK(looked(server, what) == 0);
  what.ids = json("{$and: [{'_id.t': {$exists: true}}]}");
  CHECK(looked(server, what) == 0);
  what.ids = json("{$and: [{'_id.t': {$regex: '(?=x)x+[yz]'}}]}");
  CHECK(looked(server, what) == interrupted);
  what.ids = {};
  what.fields = {"l.a"};
  CHECK(looked(server, what) == interrupted);
}

}  // namespace
}  // namespace server
