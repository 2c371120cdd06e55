#include "storage/engine/cache_waits.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "base/testing.h"
#include "storage/engine/internals.h"
#include "storage/engine/table.h"
#include "storage/testing/full_cache.h"

using namespace storage;
using Mode = Transaction::Mode;

namespace {

struct Stop {};

}  // namespace

TEST_CASE("a read that waits for the cache ends with its operation") {
  TemporaryDirectory directory;
  Engine engine(options_of_a_small_cache(directory.path()));
  const Table table = engine.open_table("things");
  in_transaction(engine, [&](Transaction& transaction) { table.put(transaction, "k", "1"); });
  {
    const FullCache full(engine, table);
    const base::Interrupted stop = [] { throw Stop(); };
    const InterruptibleWaits waits(&stop);
    Transaction reader(engine, Mode::read);
    CHECK_THROWS_AS(table.get(reader, "k"), Stop);
  }
  Transaction reader(engine, Mode::read);
  CHECK(table.get(reader, "k") == "1");
}

TEST_CASE("a wait asks its operation again and again") {
  TemporaryDirectory directory;
  Engine engine(options_of_a_small_cache(directory.path()));
  const Table table = engine.open_table("things");
  const FullCache full(engine, table);
  // The third question comes only if the thread goes on waiting after its first half second.
  int asked = 0;
  const base::Interrupted stop = [&] {
    if (++asked == 3) throw Stop();
  };
  const InterruptibleWaits waits(&stop);
  CHECK_THROWS_AS(in_transaction(
                      engine, [&](Transaction& transaction) { table.put(transaction, "k", "1"); }, stop),
                  Stop);
}

TEST_CASE("what an interrupted wait leaves half made is not committed") {
  TemporaryDirectory directory;
  Engine engine(options_of_a_small_cache(directory.path()));
  const Table table = engine.open_table("things");
  const base::Interrupted stop = [] { throw Stop(); };
  {
    Transaction writer(engine, Mode::write);
    table.put(writer, "first", "1");
    const FullCache full(engine, table);
    const InterruptibleWaits waits(&stop);
    CHECK_THROWS_AS(table.put(writer, "second", "2"), Stop);
    // Whoever takes this for the failure of one statement among others learns here that it isn't.
    CHECK_THROWS_AS(writer.commit(), Stop);
  }
  Transaction reader(engine, Mode::read);
  CHECK_FALSE(table.get(reader, "first"));
  CHECK_FALSE(table.get(reader, "second"));
}

TEST_CASE("a commit is not interrupted") {
  TemporaryDirectory directory;
  Engine engine(options_of_a_small_cache(directory.path()));
  const Table table = engine.open_table("things");
  const base::Interrupted stop = [] { throw Stop(); };
  {
    Transaction writer(engine, Mode::write);
    table.put(writer, "k", "1");
    const FullCache full(engine, table);
    const InterruptibleWaits waits(&stop);
    CHECK_NOTHROW(writer.commit());
    CHECK_FALSE(wait_was_interrupted);
  }
  Transaction reader(engine, Mode::read);
  CHECK(table.get(reader, "k") == "1");
}

TEST_CASE("a reader is not rolled back for others that wait for the cache") {
  TemporaryDirectory directory;
  Engine engine(options_of_a_small_cache(directory.path()));
  const Table table = engine.open_table("things");
  in_transaction(engine, [&](Transaction& transaction) {
    for (int i = 0; i < 100; ++i) table.put(transaction, "k" + std::to_string(i), "1");
  });
  std::atomic<bool> stops{false}, fails{false};
  std::atomic<int> reads{0};
  std::thread reader;
  {
    const FullCache full(engine, table);
    reader = std::thread([&] {
      try {
        while (!stops) {
          Transaction transaction(engine, Mode::read);
          for (int i = 0; i < 10; ++i) fails = fails || table.get(transaction, "k" + std::to_string(i)) != "1";
          ++reads;
        }
      } catch (...) {
        fails = true;
      }
    });
    // WiredTiger looks for a transaction to roll back when the cache has been stuck for some seconds, and finds the reader's.
    const auto wanted = [&] { return engine_statistic(engine.internals().connection, WT_STAT_CONN_TXN_ROLLBACK_OLDEST_PINNED); };
    CHECK((base::testing::wait_until([&, before = wanted()] { return fails || wanted() >= before + 2; })));
  }
  const int before = reads;
  CHECK((base::testing::wait_until([&] { return fails || reads > before + 1; })));
  stops = true;
  reader.join();
  CHECK_FALSE(fails);
}

TEST_CASE("what must not be interrupted goes on though another transaction holds the room") {
  TemporaryDirectory directory;
  Engine engine(options_of_a_small_cache(directory.path()));
  const Table table = engine.open_table("things");
  in_transaction(engine, [&](Transaction& transaction) {
    for (int i = 0; i < 100; ++i) table.put(transaction, "k" + std::to_string(i), "1");
  });
  // The holder's snapshot is older than its first write, so WiredTiger takes no other transaction for the one that blocks.
  Transaction holder(engine, Mode::write);
  REQUIRE(table.get(holder, "k0"));
  in_transaction(engine, [&](Transaction& transaction) { table.put(transaction, "k0", "2"); });
  table.put(holder, "large", Bytes(10 << 20, 'x'));
  const InterruptibleWaits uninterrupted(nullptr);
  {
    Transaction reader(engine, Mode::read);
    for (int i = 1; i < 5; ++i) CHECK(table.get(reader, "k" + std::to_string(i)) == "1");
  }
  in_transaction(engine, [&](Transaction& transaction) { table.put(transaction, "small", "1"); });
  Transaction reader(engine, Mode::read);
  CHECK(table.get(reader, "small") == "1");
}

TEST_CASE("a wait for the room that a checkpoint makes ends with its operation") {
  TemporaryDirectory directory;
  Engine engine(test_options(directory.path()));
  Checkpointer& checkpointer = engine.internals().checkpointer;
  const auto held = checkpointer.between_checkpoints();  // none can be taken
  int asked = 0;
  const base::Interrupted stop = [&] {
    if (++asked == 3) throw Stop();
  };
  const InterruptibleWaits waits(&stop);
  CHECK_THROWS_AS(checkpointer.make_room(DiskUse::release), Stop);
}
