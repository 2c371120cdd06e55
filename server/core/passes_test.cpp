#include "server/core/passes.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <functional>
#include <future>
#include <optional>

#include "base/error.h"
#include "base/testing.h"
#include "bson/json.h"
#include "server/commands/test_server.h"

namespace server {
namespace {

using bson::json;
using std::chrono::milliseconds;

TEST_CASE("passes come round until they are ended") {
  std::atomic<int> count = 0, under_way = 0;
  std::promise<void> third;
  {
    Passes passes(
        base::system_clock(), "test", [] { return milliseconds(1); },
        [&] {
          ++under_way;
          if (++count == 3) third.set_value();
          --under_way;
        });
    CHECK(count == 0);
    passes.start();
    third.get_future().wait();
  }
  CHECK(under_way == 0);  // the end waits for a pass that is under way
}

TEST_CASE("the clock measures the pauses") {
  base::testing::StoppedClock clock;
  std::atomic<int> count = 0;
  Passes passes(
      clock, "test", [] { return std::chrono::hours(1); }, [&] { ++count; });
  passes.start();
  // The thread may begin a pause only after the clock has gone on, so that the clock goes on again and again.
  CHECK(base::testing::wait_until([&] {
    clock.advance(std::chrono::hours(1));
    return count >= 3;
  }));
}

// Returns the error that ends an operation that would run for an hour.
std::optional<base::ErrorCode> end_of_operation(Passes& passes, Services& services, const std::function<void()>& begun) {
  Passes::Operation operation(passes, services, "test", json("{sweep: 1}"));
  begun();
  try {
    operation.context().sleep(std::chrono::hours(1));
  } catch (const base::OperationError& error) {
    return error.code();
  }
  return std::nullopt;
}

TEST_CASE("ending passes interrupts the operation that runs, and one that begins after") {
  TestServer server;
  std::promise<void> runs;
  std::optional<base::ErrorCode> running, late;
  {
    Passes passes(
        base::system_clock(), "test", [] { return milliseconds(1); },
        [&] {
          running = end_of_operation(passes, server.services(), [&] { runs.set_value(); });
          late = end_of_operation(passes, server.services(), [] {});
        });
    passes.start();
    runs.get_future().wait();
  }
  CHECK(running == base::ErrorCode::interrupted_at_shutdown);
  CHECK(late == base::ErrorCode::interrupted_at_shutdown);
}

}  // namespace
}  // namespace server
