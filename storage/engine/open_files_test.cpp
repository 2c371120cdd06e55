#include "storage/engine/open_files.h"

#include <catch2/catch.hpp>

#include "base/testing.h"
#include "storage/engine/internals.h"
#include "storage/testing/temporary_store.h"

using namespace storage;

TEST_CASE("where half of the descriptors are open files, a checkpoint is wanted every five seconds") {
  TemporaryDirectory directory;
  Engine engine(test_options(directory.path()));
  std::vector<Table> tables;
  for (int i = 0; i < 20; ++i) tables.push_back(engine.open_table("table-" + std::to_string(i)));
  wt::Connection& connection = engine.internals().connection;
  const auto open = static_cast<uint64_t>(engine_statistic(connection, WT_STAT_CONN_FILE_OPEN));
  REQUIRE(open >= 20);

  base::testing::StoppedClock clock;
  const auto later = [&](int seconds) { clock.advance(std::chrono::seconds(seconds)); };
  SECTION("few files") {
    OpenFiles files(clock, connection, 3 * open);
    CHECK_FALSE(files.look());
    later(60);
    CHECK_FALSE(files.look());
  }
  SECTION("many files") {
    OpenFiles files(clock, connection, open + 2);
    CHECK(files.look());
    CHECK_FALSE(files.look());
    for (int second = 1; second <= 4; ++second) {
      later(1);
      CHECK_FALSE(files.look());
    }
    later(1);
    CHECK(files.look());
  }
  SECTION("no limit") {
    OpenFiles files(clock, connection, UINT64_MAX);
    CHECK_FALSE(files.look());
  }
}
