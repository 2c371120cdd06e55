#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/testing.h"
#include "storage/engine/session.h"
#include "storage/testing/temporary_store.h"

using namespace storage;
using Mode = Transaction::Mode;

namespace {

int64_t read_number(Transaction& transaction, const Table& table, BytesView key) {
  const auto value = table.get(transaction, key);
  return value ? std::stoll(Bytes(*value)) : 0;
}

}  // namespace

TEST_CASE("a transaction that writes a row that another open one has written meets a conflict") {
  TemporaryDirectory directory;
  Engine engine(test_options(directory.path()));
  const Table table = engine.open_table("things");
  Transaction first(engine, Mode::write);
  Transaction second(engine, Mode::write);
  REQUIRE(table.insert(first, "k", "1"));
  CHECK_THROWS_AS(table.insert(second, "k", "2"), WriteConflict);
  second.rollback();
  first.commit();
  // In the next attempt the key is a duplicate.
  Transaction third(engine, Mode::write);
  CHECK_FALSE(table.insert(third, "k", "2"));
}

TEST_CASE("a committed transaction stands on no row, so that its pages can leave the cache") {
  TemporaryDirectory directory;
  Engine engine(test_options(directory.path()));
  const Table table = engine.open_table("things");
  in_transaction(engine, [&](Transaction& transaction) { table.put(transaction, "k", "1"); });
  for (const Mode mode : {Mode::read, Mode::write}) {
    Transaction transaction(engine, mode);
    REQUIRE(table.get(transaction, "k"));
    WT_CURSOR* cursor = transaction.session().strict("things");
    WT_ITEM key{};
    CHECK(cursor->get_key(cursor, &key) == 0);
    transaction.commit();
    CHECK(cursor->get_key(cursor, &key) != 0);
    wt::take_last_message();
  }
}

TEST_CASE("a transaction reads the state it began with") {
  TemporaryDirectory directory;
  Engine engine(test_options(directory.path()));
  const Table table = engine.open_table("things");
  in_transaction(engine, [&](Transaction& transaction) { table.put(transaction, "k", "1"); });
  Transaction reader(engine, Mode::read);
  CHECK(table.get(reader, "k") == "1");
  in_transaction(engine, [&](Transaction& transaction) { table.put(transaction, "k", "2"); });
  CHECK(table.get(reader, "k") == "1");
}

TEST_CASE("no increment is lost among concurrent writers of the same rows") {
  TemporaryDirectory directory;
  Engine engine(test_options(directory.path()));
  const Table table = engine.open_table("things");
  constexpr int threads = 4, rounds = 300;
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        in_transaction(engine, [&](Transaction& transaction) {
          const Bytes key(1, static_cast<char>('a' + (i + t) % 3));
          table.put(transaction, key, std::to_string(read_number(transaction, table, key) + 1));
        });
      }
    });
  }
  for (auto& worker : workers) worker.join();
  Transaction reader(engine, Mode::read);
  CHECK(read_number(reader, table, "a") + read_number(reader, table, "b") + read_number(reader, table, "c") == threads * rounds);
}

TEST_CASE("actions run after the commit or after the rollback they were meant for") {
  TemporaryDirectory directory;
  Engine engine(test_options(directory.path()));
  std::string order;
  const auto run = [&](bool commit) {
    Transaction transaction(engine, Mode::write);
    transaction.after_commit([&] { order += "c1 "; });
    transaction.after_commit([&] { order += "c2 "; });
    transaction.after_rollback([&] { order += "r "; });
    if (commit) transaction.commit();
  };
  run(true);
  run(false);
  CHECK(order == "c1 c2 r ");
}

TEST_CASE("a timestamp given elsewhere is used once, and holds back readers like any other") {
  const TemporaryDirectory directory;
  Engine engine(test_options(directory.path()));
  const Stamp given = engine.last_stamp() + (Stamp{50} << 32);
  {
    Transaction transaction(engine, Transaction::Mode::write);
    transaction.set_next_stamp(given);
    CHECK(transaction.next_stamp() == given);
    CHECK(engine.all_committed() == given);
    CHECK(transaction.next_stamp() > given);
    transaction.commit();
  }
  CHECK(engine.all_committed() > given);
  const Stamp readable = engine.all_committed();
  Transaction late(engine, Transaction::Mode::write);
  late.set_next_stamp(given - 1);
  CHECK(late.next_stamp() == given - 1);
  CHECK(engine.all_committed() == readable);
  late.commit();
}

TEST_CASE("an open transaction's timestamp holds back what may be read of the log") {
  TemporaryDirectory directory;
  Engine engine(test_options(directory.path()));
  Transaction first(engine, Mode::write);
  Transaction second(engine, Mode::write);
  const Stamp a = first.next_stamp();
  const Stamp b = second.next_stamp();
  const Stamp c = second.next_stamp();
  CHECK(a < b);
  CHECK(b < c);
  CHECK_THROWS_AS(first.next_stamp(), WriteConflict);  // its range would contain the second transaction's timestamps
  CHECK(engine.all_committed() == a);
  first.commit();
  CHECK(engine.all_committed() == b);
  second.rollback();
  CHECK(engine.all_committed() > c);
  engine.raise_stamp(c + (Stamp{1000} << 32));
  Transaction third(engine, Mode::write);
  CHECK(third.next_stamp() > c + (Stamp{1000} << 32));
}

TEST_CASE("a dropped table is gone from the list at once and its file later, whoever was reading") {
  TemporaryDirectory directory;
  Engine engine(test_options(directory.path()));
  const Table table = engine.open_table("things");
  engine.open_table("unread");
  const auto is_gone = [&](const std::string& name) { return !std::filesystem::exists(directory.path() + "/" + name + ".wt"); };
  in_transaction(engine, [&](Transaction& transaction) { table.put(transaction, "k", "1"); });
  {
    Transaction reader(engine, Mode::read);
    CHECK(table.get(reader, "k") == "1");
    engine.drop_table("things");
    const auto names = engine.table_names();
    CHECK(std::find(names.begin(), names.end(), "things") == names.end());
    // The thread that drops tables takes them in their order: it has tried the other one before.
    engine.drop_table("unread");
    REQUIRE(base::testing::wait_until([&] { return is_gone("unread"); }));
    CHECK(table.get(reader, "k") == "1");
  }
  CHECK(base::testing::wait_until([&] { return is_gone("things"); }));
}

TEST_CASE("a large transaction is committed beside many small ones") {
  TemporaryDirectory directory;
  EngineOptions options = test_options(directory.path());
  options.cache_bytes = 32 << 20;
  Engine engine(options);
  const Table large = engine.open_table("large"), small = engine.open_table("small");
  std::atomic<bool> over = false;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 3; ++writer) {
    writers.emplace_back([&, writer] {
      for (int i = 0; !over; ++i) {
        in_transaction(engine, [&](Transaction& transaction) {
          small.put(transaction, std::to_string(writer) + " " + std::to_string(i % 20000), Bytes(1000, 's'));
        });
      }
    });
  }
  for (int round = 0; round < 5; ++round) {
    in_transaction(engine, [&](Transaction& transaction) {
      for (int i = 0; i < 3000; ++i) large.put(transaction, std::to_string(i), Bytes(1000, static_cast<char>('a' + round)));
    });
  }
  over = true;
  for (std::thread& writer : writers) writer.join();
  Transaction reader(engine, Mode::read);
  CHECK(large.get(reader, "2999") == Bytes(1000, 'e'));
}

TEST_CASE("a draft sees what it writes, conflicts with others, holds no reader of the log back and is never committed") {
  TemporaryDirectory directory;
  Engine engine(test_options(directory.path()));
  const Table table = engine.open_table("things");
  in_transaction(engine, [&](Transaction& transaction) { table.put(transaction, "k", "1"); });
  const Stamp readable = engine.all_committed();
  {
    Transaction draft(engine, Mode::draft);
    table.put(draft, "k", "2");
    CHECK(read_number(draft, table, "k") == 2);
    const Stamp first = draft.next_stamp(), second = draft.next_stamp();
    CHECK(is_draft(first));
    CHECK(second > first);
    CHECK(engine.all_committed() == readable);
    CHECK(draft.written_bytes() > 0);
    Transaction other(engine, Mode::write);
    CHECK(read_number(other, table, "k") == 1);
    CHECK_THROWS_AS(table.put(other, "k", "3"), WriteConflict);
  }
  Transaction reader(engine, Mode::read);
  CHECK(read_number(reader, table, "k") == 1);
}

TEST_CASE("a draft of an earlier state conflicts with what was written since") {
  TemporaryDirectory directory;
  EngineOptions options = test_options(directory.path());
  options.replicated = true;
  Engine engine(options);
  const Table table = engine.open_table("things");
  const auto write = [&](const char* value) {
    in_transaction(engine, [&](Transaction& transaction) {
      table.put(transaction, "k", value);
      transaction.next_stamp();
    });
    engine.set_majority_committed(engine.last_stamp());
  };
  write("1");
  const auto snapshot = engine.keep_snapshot();
  write("2");
  Transaction draft(engine, *snapshot, Mode::draft);
  CHECK(read_number(draft, table, "k") == 1);
  CHECK_THROWS_AS(table.put(draft, "k", "3"), WriteConflict);
}
