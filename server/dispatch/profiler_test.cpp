#include "server/dispatch/profiler.h"

#include <catch2/catch.hpp>

#include "bson/json.h"
#include "server/commands/test_server.h"
#include "server/core/options.h"
#include "server/core/services.h"

namespace server {

TEST_CASE("a database's level holds for its branches, and ends with it") {
  Profiler profiler{Options()};
  CHECK(!profiler.watches("shop"));
  profiler.set("shop@dev", {.level = 2, .filter = nullptr});
  CHECK(profiler.settings("shop").level == 2);
  CHECK(profiler.watches("shop@dev~2"));
  CHECK(!profiler.watches("other"));
  profiler.forget("shop");
  CHECK(profiler.settings("shop").level == 0);
}

TEST_CASE("a level from the start holds where no other was set") {
  Options options;
  options.profile_level = 1;
  Profiler profiler(options);
  CHECK(profiler.watches("any"));
  profiler.set("shop", {.level = 0, .filter = nullptr});
  CHECK(!profiler.watches("shop"));
  CHECK(profiler.watches("any"));
}

TEST_CASE("the profiler's entries are neither in the log nor in a snapshot") {
  TestServer server;
  server.expect(R"({profile: 2})", R"({was: 0, ok: 1})");
  server.expect(R"({insert: "c", documents: [{_id: 1}, {_id: 2}]})", R"({n: 2})");
  server.expect(R"({delete: "c", deletes: [{q: {}, limit: 0}, {q: {_id: 9}, limit: 1}]})", R"({n: 2})");
  server.expect(R"({profile: 0})", R"({was: 2})");
  server.expect(R"({count: "system.profile", query: {op: "insert"}})", R"({n: 1})");
  server.expect(R"({count: "system.profile", query: {op: "remove"}})", R"({n: 2})");
  server.expect("local", R"({count: "oplog.rs", query: {ns: "test.system.profile"}})", R"({n: 0})");
  server.expect("local", R"({count: "oplog.rs", query: {"o.create": "system.profile"}})", R"({n: 0})");
  server.expect(R"({dropDatabase: 1})", R"({dropped: "test"})");
  server.expect(R"({profile: 1})", R"({was: 0})");
  server.expect(R"({dropDatabase: 1})", R"({dropped: "test"})");
  server.expect("local", R"({count: "oplog.rs", query: {"o.dropDatabase": 1}})", R"({n: 1})");
}

}  // namespace server
