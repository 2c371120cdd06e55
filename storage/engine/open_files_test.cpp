#include "storage/engine/open_files.h"

#include <catch2/catch.hpp>

#include "base/testing.h"
#include "storage/engine/internals.h"
#include "storage/testing/temporary_store.h"

using namespace storage;

TEST_CASE("where half of the descriptors are open files, checkpoints are wanted, and fewer if they are in vain") {
  TemporaryDirectory directory;
  Engine engine(test_options(directory.path()));
  std::vector<Table> tables;
  for (int i = 0; i < 20; ++i) tables.push_back(engine.open_table("table-" + std::to_string(i)));
  wt::Connection& connection = engine.internals().connection;
  const auto open = static_cast<uint64_t>(engine_statistic(connection, WT_STAT_CONN_FILE_OPEN));
  REQUIRE(open >= 20);

  base::testing::StoppedClock clock;
  std::vector<bool> few;
  const auto keep_few = [&](bool so) { few.push_back(so); };
  const auto wanted_at = [&](OpenFiles& files, int seconds) {
    std::vector<int> at;
    for (int second = 0; second < seconds; ++second, clock.advance(std::chrono::seconds(1))) {
      if (files.look()) at.push_back(second);
      CHECK_FALSE(files.look());
    }
    return at;
  };
  SECTION("few files") {
    OpenFiles files(clock, connection, 3 * open, keep_few);
    CHECK(wanted_at(files, 60).empty());
    CHECK(few.empty());
  }
  SECTION("many files, which stay open") {
    OpenFiles files(clock, connection, open + 2, keep_few);
    CHECK(wanted_at(files, 200) == std::vector<int>{0, 5, 15, 35, 75, 135, 195});
    CHECK(few.front());
    CHECK(std::find(few.begin(), few.end(), false) == few.end());
  }
  SECTION("no limit") {
    OpenFiles files(clock, connection, UINT64_MAX, keep_few);
    CHECK(wanted_at(files, 3).empty());
  }
}

TEST_CASE("sessions that are to keep few cursors close theirs") {
  TemporaryDirectory directory;
  Engine engine(test_options(directory.path()));
  const auto read_all = [&] {
    Transaction reader(engine, Transaction::Mode::read);
    for (int i = 0; i < 30; ++i) CHECK_FALSE(engine.open_table("table-" + std::to_string(i)).get(reader, "key"));
    return &reader.session();
  };
  SessionPool& pool = engine.internals().sessions;
  const Transaction::Session* const session = read_all();
  CHECK(session->tables.size() >= 30);
  pool.keep_few(true);
  CHECK(session->tables.empty());
  CHECK(read_all() == session);
  CHECK(session->tables.empty());
  pool.keep_few(false);
  CHECK(read_all() == session);
  CHECK(session->tables.size() >= 30);
}
