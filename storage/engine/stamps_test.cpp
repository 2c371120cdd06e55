#include <catch2/catch.hpp>

#include <map>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/random.h"
#include "storage/engine/transaction.h"
#include "storage/testing/temporary_store.h"

using namespace storage;

namespace {

using Stamps = std::vector<Stamp>;

// Checks that no timestamp occurs twice, and that none lies within the range of another transaction.
void require_apart(std::vector<Stamps> transactions) {
  std::sort(transactions.begin(), transactions.end());
  Stamp last = 0;
  for (const Stamps& one : transactions) {
    REQUIRE(one.front() > last);
    for (size_t i = 1; i < one.size(); ++i) REQUIRE(one[i] > one[i - 1]);
    last = one.back();
  }
}

}  // namespace

TEST_CASE("timestamps of one transaction stay together, whoever else takes some and whatever was expected") {
  StampSource source(base::system_clock());
  constexpr int threads = 4, transactions = 3000;
  std::mutex mutex;
  std::vector<Stamps> all;
  int refused = 0, overtaken = 0;
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      base::Random random(static_cast<uint64_t>(t) + 1);
      for (int i = 0; i < transactions; ++i) {
        StampRange range;
        Stamps mine;
        const uint64_t expected = random.below(6), wanted = 1 + random.below(9);
        while (mine.size() < wanted) {
          const Stamp stamp = source.next(range, expected);
          if (stamp == 0) break;
          mine.push_back(stamp);
          if (random.below(4) == 0) std::this_thread::yield();
        }
        const bool held = source.all_committed() <= range.first;
        source.release(range.place);
        const std::lock_guard lock(mutex);
        if (!held) ++overtaken;
        if (mine.size() < wanted) ++refused;
        all.push_back(std::move(mine));
      }
    });
  }
  for (auto& worker : workers) worker.join();
  require_apart(all);
  CHECK(source.all_committed() == source.last() + 1);
  CHECK(refused < threads * transactions);
  CHECK(overtaken == 0);
}

TEST_CASE("a range that was too short goes on while nobody is behind it, and is refused else") {
  StampSource source(base::system_clock());
  StampRange first, second;
  const Stamp a = source.next(first, 1);
  CHECK(source.next(first, 1) == a + 1);
  CHECK(source.next(first, 1) == a + 2);
  CHECK(source.next(first, 1) == a + 3);  // it was reserved with the last one
  CHECK(source.next(second, 1) > a + 3);
  CHECK(source.next(first, 1) == 0);
  CHECK(source.all_committed() == a);
  source.release(first.place);
  CHECK(source.all_committed() == second.first);
  source.release(second.place);
  CHECK(source.all_committed() == source.last() + 1);
}

TEST_CASE("a transaction that needs more timestamps than others left is run again and has them") {
  TemporaryDirectory directory;
  Engine engine(test_options(directory.path()));
  int runs = 0;
  Stamps mine;
  in_transaction(engine, [&](Transaction& transaction) {
    mine.clear();
    if (++runs < 3) {
      for (int i = 0; i < 3; ++i) mine.push_back(transaction.next_stamp());
      Transaction other(engine, Transaction::Mode::write);
      other.next_stamp();
      other.commit();
    }
    for (int i = 0; i < 7; ++i) mine.push_back(transaction.next_stamp());
  });
  CHECK(runs > 1);
  for (size_t i = 1; i < mine.size(); ++i) CHECK(mine[i] == mine[i - 1] + 1);
}

TEST_CASE("timestamps apart from the log leave it as it is") {
  StampSource source(base::system_clock());
  StampRange range;
  const Stamp a = source.next(range, 1);
  source.release(range.place);
  const Stamp one = source.apart(), two = source.apart();
  CHECK(two > one);
  CHECK(source.last() == a);
  CHECK(source.all_committed() == a + 1);
}

// Everything that others had committed when a transaction took its first timestamp is in its snapshot or doesn't concern it, so
// changes can be replayed in the order of their timestamps.
TEST_CASE("a transaction sees nothing that was committed after it took its first timestamp") {
  TemporaryDirectory directory;
  Engine engine(test_options(directory.path()));
  const Table table = engine.open_table("things");
  Transaction first(engine, Transaction::Mode::write);
  first.next_stamp();
  in_transaction(engine, [&](Transaction& transaction) { table.put(transaction, "k", "v"); });
  CHECK_FALSE(table.get(first, "k"));
}
