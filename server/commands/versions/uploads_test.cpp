#include "server/commands/versions/uploads.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/testing.h"
#include "server/query/test_support.h"

namespace server {
namespace {

TEST_CASE("an upload that nobody goes on with is forgotten after ten minutes by the server's clock") {
  base::testing::StoppedClock clock;
  query::TestServer server(clock);
  query::TestServer::Operation operation(server);
  Uploads uploads;
  const auto go_on = [&](int64_t offset) {
    Uploads::Upload upload = uploads.take(operation.op, "one", "shop", offset);
    ++upload.bytes;
    uploads.keep(operation.op, "one", std::move(upload));
  };
  go_on(0);
  clock.advance(Uploads::idle_max);
  go_on(1);
  clock.advance(Uploads::idle_max);
  go_on(2);
  clock.advance(Uploads::idle_max + std::chrono::milliseconds(1));
  CHECK_THROWS_AS(go_on(3), base::OperationError);
  go_on(0);  // it begins anew
}

}  // namespace
}  // namespace server
