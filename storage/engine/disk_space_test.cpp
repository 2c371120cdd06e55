#include "storage/engine/disk_space.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "base/testing.h"
#include "storage/engine/engine_files.h"
#include "storage/engine/internals.h"
#include "storage/engine/metadata_copy.h"
#include "storage/engine/replayed_writes.h"
#include "storage/engine/room.h"
#include "storage/testing/temporary_store.h"

using namespace storage;

namespace {

constexpr uint64_t mb = 1 << 20, gb = 1 << 30;

// Returns how much the file takes on its disk, whatever its length.
uint64_t taken_bytes(const std::string& path) {
  struct stat about {};
  REQUIRE(::stat(path.c_str(), &about) == 0);
  return static_cast<uint64_t>(about.st_blocks) * 512;
}

}  // namespace

TEST_CASE("the reserve is a share of the cache, and small on a small disk") {
  CHECK(disk_reserve_bytes(512 * mb, 1000 * gb) == 32 * mb);
  CHECK(disk_reserve_bytes(10 * mb, 1000 * gb) == 16 * mb);
  CHECK(disk_reserve_bytes(100 * gb, 1000 * gb) == 128 * mb);
  CHECK(disk_reserve_bytes(512 * mb, 1000 * gb) == disk_reserve_bytes(512 * mb, 10 * gb));
  CHECK(disk_reserve_bytes(100 * gb, 320 * mb) == 20 * mb);
  CHECK(disk_reserve_bytes(100 * gb, 1 * mb) == 4 * mb);
  for (const uint64_t cache : {1 * mb, 256 * mb, 64 * gb})
    for (const uint64_t disk : {16 * mb, 300 * mb, 1000 * gb}) {
      const uint64_t reserve = disk_reserve_bytes(cache, disk);
      CHECK(4 * journal_file_bytes(reserve) <= reserve);
      CHECK(journal_file_bytes(reserve) >= mb);
      CHECK(journal_file_bytes(reserve) <= 32 * mb);
    }
}

TEST_CASE("uses of the disk give way in their order, and come back with a distance") {
  const uint64_t reserve = 16 * mb;
  const auto state = [&](uint64_t room, DiskState before) { return disk_state(room, reserve, before); };
  CHECK(state(32 * mb, DiskState::plenty) == DiskState::plenty);
  CHECK(state(32 * mb - 1, DiskState::plenty) == DiskState::low);
  CHECK(state(16 * mb, DiskState::plenty) == DiskState::low);
  CHECK(state(16 * mb - 1, DiskState::plenty) == DiskState::full);
  CHECK(state(8 * mb - 1, DiskState::low) == DiskState::critical);
  CHECK(state(2 * mb, DiskState::low) == DiskState::critical);
  CHECK(state(2 * mb - 1, DiskState::low) == DiskState::exhausted);
  CHECK(state(0, DiskState::exhausted) == DiskState::exhausted);

  CHECK(state(20 * mb - 1, DiskState::full) == DiskState::full);
  CHECK(state(20 * mb, DiskState::full) == DiskState::low);
  CHECK(state(32 * mb, DiskState::full) == DiskState::low);
  CHECK(state(36 * mb, DiskState::full) == DiskState::plenty);
  CHECK(state(gb, DiskState::exhausted) == DiskState::plenty);
  // An operation that frees space mustn't wait for room that it alone can make.
  CHECK(state(5 * mb / 2 - 1, DiskState::exhausted) == DiskState::exhausted);
  CHECK(state(5 * mb / 2, DiskState::exhausted) == DiskState::critical);
  CHECK(state(10 * mb, DiskState::critical) == DiskState::full);
}

TEST_CASE("what is unwritten counts as used, unless a checkpoint would be of little use") {
  const uint64_t reserve = 16 * mb;
  const auto tight = [&](uint64_t room, uint64_t unwritten) { return disk_tightness(room, reserve, unwritten); };
  CHECK(tight(100 * mb, 50 * mb) == DiskState::plenty);
  CHECK(tight(40 * mb, 24 * mb) == DiskState::plenty);
  CHECK(tight(40 * mb, 24 * mb + 1) == DiskState::full);
  CHECK(tight(40 * mb, 32 * mb) == DiskState::full);
  CHECK(tight(40 * mb, 32 * mb + 1) == DiskState::critical);
  CHECK(tight(40 * mb, 38 * mb + 1) == DiskState::exhausted);
  CHECK(tight(40 * mb, 200 * mb) == DiskState::exhausted);
  CHECK(tight(0, 2 * mb) == DiskState::exhausted);
  CHECK(tight(0, 2 * mb - 1) == DiskState::plenty);
}

TEST_CASE("deletes wait for a checkpoint where little of the reserve would be left, and not for one in vain") {
  TemporaryDirectory directory;
  uint64_t dirty = 0;
  DiskSpace space(directory.path(), 1ull << 60);
  space.ask_for_unwritten([&] { return dirty; });
  space.look();
  const DiskFigures now = space.figures();
  constexpr uint64_t others = gb;  // other programs may give room back meanwhile
  REQUIRE(now.state == DiskState::plenty);
  dirty = now.free_bytes + now.ballast_bytes + others;
  space.look();
  CHECK_FALSE(space.has_room(DiskUse::release));
  CHECK_NOTHROW(space.require(DiskUse::release));
  CHECK_FALSE(space.has_room(DiskUse::change));
  CHECK_NOTHROW(space.require(DiskUse::change));
  CHECK_THROWS_AS(space.require(DiskUse::growth), base::OperationError);
  CHECK(space.checkpoint_helps());

  space.checkpointed();  // it hasn't written anything
  CHECK(space.has_room(DiskUse::release));
  CHECK_FALSE(space.has_room(DiskUse::growth));
  dirty += now.reserve_bytes / 8 - 1;
  space.look();
  CHECK(space.has_room(DiskUse::release));
  dirty += 1;
  space.look();
  CHECK_FALSE(space.has_room(DiskUse::release));
  dirty = 0;
  space.checkpointed();
  CHECK(space.has_room(DiskUse::growth));
  // Unjournaled bytes count as used, and no checkpoint makes room of them.
  space.add_unjournaled(static_cast<int64_t>(now.free_bytes + now.ballast_bytes + others));
  space.look();
  CHECK_FALSE(space.has_room(DiskUse::growth));
  CHECK(space.has_room(DiskUse::release));
  CHECK_FALSE(space.checkpoint_helps());
}

TEST_CASE("what open transactions have yet to add to the journal is unwritten, and a large write must fit") {
  TemporaryDirectory directory;
  DiskSpace space(directory.path(), 1ull << 60);  // with such a cache every room is small enough to ask
  space.ask_for_unwritten([] { return 5 * mb; });
  space.add_unjournaled(7 * mb);
  space.look();
  CHECK(space.figures().unwritten_bytes == 12 * mb);
  space.add_unjournaled(-7 * mb);
  space.checkpointed();
  CHECK(space.figures().unwritten_bytes == 5 * mb);

  const DiskFigures now = space.figures();
  const uint64_t room = now.free_bytes + now.ballast_bytes + gb;  // other programs may give room back meanwhile
  for (const DiskUse use : {DiskUse::growth, DiskUse::release}) {
    CHECK(space.has_room(use, 16 * mb));
    CHECK_FALSE(space.has_room(use, room));
    CHECK_THROWS_AS(space.require(use, room), base::OperationError);
  }
  CHECK_THROWS_AS(space.require_for_replay(DiskUse::growth, room), base::OperationError);
  CHECK(space.figures().refused == 3);
}

TEST_CASE("a transaction's bytes are unjournaled until it ends") {
  TemporaryDirectory directory;
  Engine engine(test_options(directory.path()));
  const Table table = engine.open_table("things");
  DiskSpace& space = engine.internals().space;
  const auto unjournaled = [&] { return space.unjournaled_bytes(); };
  const int64_t before = unjournaled();
  {
    Transaction transaction(engine, Transaction::Mode::write);
    table.put(transaction, "key", Bytes(100'000, 'x'));
    CHECK(unjournaled() == before + 100'003);
    transaction.commit();
    CHECK(unjournaled() == before);
  }
  {
    Transaction rolled_back(engine, Transaction::Mode::write);
    table.put(rolled_back, "key", Bytes(1000, 'x'));
    CHECK(unjournaled() > before);
  }
  CHECK(unjournaled() == before);
  // Nobody commits a draft, and what is replayed is in the log's journal.
  Transaction draft(engine, Transaction::Mode::draft);
  table.put(draft, "key", Bytes(1000, 'x'));
  CHECK(unjournaled() == before);
  const ReplayedWrites replayed;
  Transaction again(engine, Transaction::Mode::write);
  table.put(again, "other", Bytes(1000, 'x'));
  CHECK(unjournaled() == before);
}

TEST_CASE("the ballast takes its room, gives it up in quarters, and is found by the next start") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/" + ballast_file;
  {
    Ballast ballast(directory.path(), 8 * mb);
    CHECK(ballast.held_bytes() == 0);
    CHECK_FALSE(ballast.give_up());
    REQUIRE(ballast.fill());
    CHECK(taken_bytes(path) >= 8 * mb);
    REQUIRE(ballast.give_up());
    CHECK(ballast.held_bytes() == 6 * mb);
    CHECK(taken_bytes(path) < 7 * mb);
  }
  Ballast again(directory.path(), 8 * mb);
  CHECK(again.held_bytes() == 6 * mb);
  for (int times = 0; times < 3; ++times) CHECK(again.give_up());
  CHECK(again.held_bytes() == 0);
  CHECK_FALSE(again.give_up());
  CHECK(again.times_given_up() == 3);
  CHECK(again.fill());
}

TEST_CASE("a copy of the ballast that takes no room is no ballast") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/" + ballast_file;
  const int file = ::open(path.c_str(), O_CREAT | O_WRONLY, 0600);
  REQUIRE(::ftruncate(file, 8 * mb) == 0);
  ::close(file);
  Ballast ballast(directory.path(), 8 * mb);
  CHECK(ballast.held_bytes() == 0);
  CHECK(ballast.fill());
  CHECK(taken_bytes(path) >= 8 * mb);
}

TEST_CASE("an open directory has its ballast, and a backup leaves it out") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  const DiskFigures figures = disk_figures(store);
  REQUIRE(figures.state == DiskState::plenty);
  CHECK(figures.ballast_bytes == figures.reserve_bytes / 2);
  CHECK_FALSE(is_engine_file(ballast_file));
  CHECK_NOTHROW(require_room(store));
  CHECK_NOTHROW(require_temporary_room(store, 1 << 20));
}

TEST_CASE("a checkpoint that finds no room is taken again for three seconds of the engine's clock") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  Engine::Internals& internals = store.engine().internals();
  internals.checkpointer.stop();  // two would make the same copy of the metadata
  base::testing::StoppedClock clock;
  // An attempt that gives the copy of the metadata up has another one after it, so the thread's copy must be there before the
  // first.
  REQUIRE(internals.connection.give_metadata_copy_up());
  int attempts = 0;
  Checkpointer checkpointer(clock, internals.connection, internals.space, 3600, [&](const std::function<void()>&) {
    ++attempts;
    clock.advance(std::chrono::seconds(1));
    throw base::OperationError(base::ErrorCode::out_of_disk_space, "no room");
  });
  REQUIRE(base::testing::wait_until([&] { return std::filesystem::exists(directory.path() + "/" + metadata_copy_file); }));
  CHECK_THROWS_AS(checkpointer.checkpoint(), base::OperationError);
  CHECK(attempts == 3);
}

TEST_CASE("a write that lacks room has a checkpoint taken, inside a transaction too") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  const Table table = store.engine().open_table("things");
  Checkpointer& checkpointer = store.engine().internals().checkpointer;
  Transaction transaction(store, Transaction::Mode::write);
  table.put(transaction, "key", Bytes(100'000, 'x'));
  const int64_t before = checkpointer.count();
  checkpointer.make_room(DiskUse::growth);
  CHECK(checkpointer.count() > before);
  transaction.commit();
}
