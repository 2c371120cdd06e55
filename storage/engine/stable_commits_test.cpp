#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/testing.h"
#include "storage/engine/internals.h"
#include "storage/engine/transaction.h"
#include "storage/testing/temporary_store.h"

using namespace storage;

namespace {

EngineOptions member_options(const std::string& path) {
  EngineOptions options = test_options(path);
  options.replicated = true;
  return options;
}

Stamp put(Engine& engine, const Table& table, const std::string& key, const std::string& value, bool stamped = true) {
  return in_transaction(engine, [&](Transaction& transaction) {
    table.put(transaction, key, value);
    return stamped ? transaction.next_stamp() : Stamp{0};
  });
}

std::string content(Engine& engine, const Table& table) {
  Transaction transaction(engine, Transaction::Mode::read);
  std::string all;
  auto cursor = table.cursor(transaction);
  while (cursor.next()) all.append(cursor.key()).append("=").append(cursor.value()).append(" ");
  return all;
}

bool has_file(const std::string& path, const std::string& table) {
  return std::filesystem::exists(path + "/" + table + ".wt");
}

}  // namespace

TEST_CASE("a member's directory opens with what was majority-committed, after a crash and after a stop") {
  const bool crash = GENERATE(true, false);
  const TemporaryDirectory directory, copy;
  std::string path = directory.path();
  Stamp second = 0;
  {
    Engine engine(member_options(path));
    const Table table = engine.open_table("t");
    const Table own = engine.open_table("own", {.always_journaled = true});
    put(engine, table, "a", "1");
    second = put(engine, table, "b", "2");
    put(engine, table, "c", "work", false);
    engine.set_majority_committed(second);
    const Stamp third = put(engine, table, "a", "3");
    put(engine, table, "d", "work on what is not majority-committed", false);
    put(engine, own, "mine", "4");
    engine.checkpoint();
    CHECK(engine.checkpointed_stamp() == second);
    put(engine, own, "mine", "5");
    CHECK(content(engine, table) == "a=3 b=2 c=work d=work on what is not majority-committed ");
    if (crash) {
      engine.wait_durable();
      directory.copy_to(copy);
      path = copy.path();
    }
    CHECK(third > second);
  }
  {
    Engine engine(member_options(path));
    CHECK(engine.recovered_stamp() == second);
    const Table table = engine.open_table("t");
    CHECK(content(engine, table) == "a=1 b=2 c=work ");
    CHECK(content(engine, engine.open_table("own", {.always_journaled = true})) == "mine=5 ");
    // The member goes on, and writes the same places of the log again.
    engine.set_majority_committed(put(engine, table, "a", "6"));
    put(engine, table, "e", "work", false);
    engine.checkpoint();
  }
  Engine engine(member_options(path));
  CHECK(content(engine, engine.open_table("t")) == "a=6 b=2 c=work e=work ");
}

TEST_CASE("majority-committed transactions may have timestamps out of the order of their commits") {
  const TemporaryDirectory directory;
  Engine engine(member_options(directory.path()));
  const Table table = engine.open_table("t");
  Stamp early = 0, late = 0;
  {
    Transaction first(engine, Transaction::Mode::write), then(engine, Transaction::Mode::write);
    table.put(first, "early", "1");
    early = first.next_stamp();
    table.put(then, "late", "2");
    late = then.next_stamp();
    then.commit();
    first.commit();
  }
  engine.set_majority_committed(early);
  engine.checkpoint();  // it holds neither: the majority-committed write was committed behind the other one
  CHECK(engine.checkpointed_stamp() < early);
  engine.set_majority_committed(late);
  engine.checkpoint();
  CHECK(engine.checkpointed_stamp() == late);
}

TEST_CASE("the stable point has all of a transaction's timestamps, or none") {
  const TemporaryDirectory directory;
  Engine engine(member_options(directory.path()));
  const Table table = engine.open_table("t");
  Transaction several(engine, Transaction::Mode::write), then(engine, Transaction::Mode::write);
  table.put(several, "several", "1");
  several.expect_stamps(6);
  const Stamp first = several.next_stamp();
  Stamp newest = first;
  for (int i = 1; i < 6; ++i) newest = several.next_stamp();
  table.put(then, "late", "2");
  const Stamp late = then.next_stamp();
  then.commit();
  several.commit();
  engine.set_majority_committed(newest);  // what was committed before it isn't, so it can't be stable
  CHECK(engine.keep_snapshot()->stamp < first);
  engine.checkpoint();
  CHECK(engine.checkpointed_stamp() < first);
  engine.set_majority_committed(late);
  CHECK(engine.keep_snapshot()->stamp == late);
}

TEST_CASE("a commit that is being made holds the stable point back, and nobody else") {
  const TemporaryDirectory directory;
  Engine engine(member_options(directory.path()));
  StableCommits& commits = *engine.internals().stable;
  engine.set_majority_committed(1000);
  const auto before = commits.advance();
  const uint64_t first = commits.begin(7, 7), second = commits.begin(0, 0), third = commits.begin(9, 9),
                 fourth = commits.begin(0, 0), fifth = commits.begin(0, 0);
  CHECK(first == before.commit + 1);
  CHECK(fifth == first + 4);
  commits.over(second, true);
  commits.over(fifth, true);
  commits.over(fourth, true);
  auto point = commits.advance();
  CHECK(point.commit == before.commit);
  CHECK(point.stamp == 6);  // the point ends before the first commit's timestamp
  commits.over(first, true);
  point = commits.advance();
  CHECK(point.commit == second);
  CHECK(point.stamp == 8);
  commits.over(third, false);  // this commit was not made
  point = commits.advance();
  CHECK(point.commit == fifth);
  CHECK(point.stamp == 1000);
}

TEST_CASE("writers side by side become stable whole, in whatever order they are made") {
  const TemporaryDirectory directory;
  Engine engine(member_options(directory.path()));
  const Table table = engine.open_table("t");
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&, writer] {
      for (int i = 0; !stop; ++i) {
        in_transaction(engine, [&](Transaction& transaction) {
          table.put(transaction, "a" + std::to_string(writer), std::to_string(i));
          table.put(transaction, "b" + std::to_string(writer), std::to_string(i));
          if (i % 3) transaction.next_stamp();
        });
        engine.set_majority_committed(engine.all_committed() - 1);
      }
    });
  }
  const auto is_whole = [&](Transaction& transaction, int writer) {
    const auto read = [&](const char* half) {
      return std::string(table.get(transaction, half + std::to_string(writer)).value_or(""));
    };
    return read("a") == read("b");
  };
  for (int i = 0; i < 200; ++i) {
    const auto kept = engine.keep_snapshot();
    Transaction transaction(engine, *kept);
    for (int writer = 0; writer < 4; ++writer) CHECK(is_whole(transaction, writer));
    if (i % 50 == 0) engine.checkpoint();
  }
  stop = true;
  for (auto& writer : writers) writer.join();
  const TemporaryDirectory copy;
  engine.checkpoint();
  directory.copy_to(copy);
  Engine recovered(member_options(copy.path()));
  Transaction transaction(recovered, Transaction::Mode::read);
  for (int writer = 0; writer < 4; ++writer) CHECK(is_whole(transaction, writer));
}

TEST_CASE("a kept snapshot is read as it was, and what was stable is in it") {
  const TemporaryDirectory directory;
  Engine engine(member_options(directory.path()));
  const Table table = engine.open_table("t");
  engine.set_majority_committed(put(engine, table, "a", "1"));
  put(engine, table, "b", "not majority-committed");
  const auto kept = engine.keep_snapshot();
  const auto as_of = [&](const Snapshot& snapshot) {
    Transaction transaction(engine, snapshot);
    return std::string(table.get(transaction, "a").value_or("none")) + (table.get(transaction, "b") ? " b" : "");
  };
  CHECK(as_of(*kept) == "1");
  for (int i = 2; i < 50; ++i) {
    engine.set_majority_committed(put(engine, table, "a", std::to_string(i)));
    if (i % 20 == 0) engine.checkpoint();
  }
  CHECK(as_of(*kept) == "1");
  const auto later = engine.keep_snapshot();
  CHECK(later->stamp > kept->stamp);
  CHECK(as_of(*later) == "49 b");
}

TEST_CASE("a dropped table's file stays until a checkpoint holds the drop") {
  const TemporaryDirectory directory;
  Engine engine(member_options(directory.path()));
  const Table table = engine.open_table("t"), other = engine.open_table("u"), late = engine.open_table("late");
  put(engine, table, "a", "1");
  put(engine, late, "a", "1");
  const Stamp drop = put(engine, other, "t", "dropped");
  engine.drop_table("t");
  engine.checkpoint();
  // This drop waits for no checkpoint. The thread that drops tables takes them in their order, so by the time it has dropped this
  // one, it would have dropped the other.
  engine.internals().tables.drop("late");
  REQUIRE(base::testing::wait_until([&] { return !has_file(directory.path(), "late"); }));
  CHECK(has_file(directory.path(), "t"));
  engine.set_majority_committed(drop);
  engine.checkpoint();
  CHECK(base::testing::wait_until([&] { return !has_file(directory.path(), "t"); }));
}

TEST_CASE("a directory becomes a member's, and a lone server's again") {
  const TemporaryDirectory directory, copy;
  {
    Engine engine(test_options(directory.path()));
    put(engine, engine.open_table("t"), "a", "1");
  }
  {
    Engine engine(member_options(directory.path()));
    const Table table = engine.open_table("t");
    CHECK(content(engine, table) == "a=1 ");
    engine.set_majority_committed(put(engine, table, "a", "2"));
    put(engine, table, "b", "not majority-committed");
  }
  {
    Engine engine(test_options(directory.path()));
    const Table table = engine.open_table("t");
    CHECK(content(engine, table) == "a=2 ");
    put(engine, table, "a", "3");
    engine.wait_durable();
    directory.copy_to(copy);
  }
  Engine engine(test_options(copy.path()));
  CHECK(content(engine, engine.open_table("t")) == "a=3 ");
}
