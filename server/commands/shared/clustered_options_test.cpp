#include "server/commands/shared/clustered_options.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/testing.h"
#include "bson/json.h"
#include "server/core/arguments.h"

namespace server {
namespace {

TEST_CASE("documents may become as old as the clock's time allows") {
  base::testing::StoppedClock clock(1'700'000'000'000);
  const auto parse = [&](const char* command) {
    const bson::Document body = bson::json(command);
    return parse_expiry_option(Arguments("create", body), clock);
  };
  CHECK(parse("{create: 'c'}") == std::nullopt);
  CHECK(parse("{create: 'c', expireAfterSeconds: 0}") == 0);
  CHECK(parse("{create: 'c', expireAfterSeconds: 1700000000}") == 1'700'000'000);
  CHECK_THROWS_AS(parse("{create: 'c', expireAfterSeconds: 1700000001}"), base::OperationError);
  CHECK_THROWS_AS(parse("{create: 'c', expireAfterSeconds: -1}"), base::OperationError);
  clock.advance(std::chrono::seconds(1));
  CHECK(parse("{create: 'c', expireAfterSeconds: 1700000001}") == 1'700'000'001);
}

}  // namespace
}  // namespace server
