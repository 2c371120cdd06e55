#include "replication/log_feed.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "base/testing.h"
#include "replication/stub_coordinator.h"
#include "replication/test_support.h"

namespace replication {
namespace {

using storage::Stamp;

// A set in which everything is majority-committed up to where the test says.
class Committed final : public test::StubCoordinator {
 public:
  explicit Committed(storage::Store& store) : store_(store) {}

  Progress progress() const override {
    Progress progress;
    progress.committed.optime.ts = upto_.load();
    return progress;
  }
  void when_committed_past(Stamp stamp, std::function<void()> done) override {
    {
      const base::MutexLock lock(mutex_);
      if (upto_ <= stamp) {
        waiting_.push_back(std::move(done));
        return;
      }
    }
    done();
  }

  Stamp commit() {
    std::vector<std::function<void()>> due;
    {
      const base::MutexLock lock(mutex_);
      upto_ = store_.engine().all_committed() - 1;
      due.swap(waiting_);
    }
    for (auto& done : due) done();
    return upto_;
  }

 private:
  storage::Store& store_;
  std::atomic<Stamp> upto_{0};
  base::Mutex mutex_;
  std::vector<std::function<void()>> waiting_ GUARDED_BY(mutex_);
};

struct Fed {
  explicit Fed(const std::string& path, base::Clock& clock = base::system_clock())
      : member(path, 100 << 20, clock), set(member.store), feed(member.store, member.oplog, set) {
    orders = member.store.catalog().create("shop.orders", {});
    other = member.store.catalog().create("shop.other", {});
    start = set.commit();
  }

  void insert(storage::Collection& into, int id, size_t bytes = 0) {
    const auto document = bson::json("{_id: " + std::to_string(id) + ", pad: '" + std::string(bytes, 'p') + "'}");
    member.write([&](storage::Transaction& transaction) { member.committer.insert(transaction, into, document); });
  }

  test::Member member;
  Committed set;
  LogFeed feed;
  std::shared_ptr<storage::Collection> orders, other;
  Stamp start = 0;
};

std::vector<int64_t> read(LogFeed::Follower& follower, size_t count) {
  std::vector<int64_t> ids;
  base::testing::wait_until([&] {
    while (ids.size() < count) {
      const auto change = follower.next(nullptr);
      if (!change) return false;
      ids.push_back(change->entry.o["_id"].to_int64());
    }
    return true;
  });
  return ids;
}

std::vector<int64_t> numbers(int from, int to) {
  std::vector<int64_t> all;
  for (int i = from; i < to; ++i) all.push_back(i);
  return all;
}

bool wait_for(const std::atomic<int>& count, int wanted) {
  return base::testing::wait_until([&] { return count >= wanted; }) && count == wanted;
}

TEST_CASE("a follower sees what is majority-committed in its scope, in order") {
  storage::TemporaryDirectory directory;
  Fed fed(directory.path());
  const auto one = fed.feed.follow(LogScope::collection("shop.orders"), fed.start);
  const auto both = fed.feed.follow(LogScope::database("shop"), fed.start);
  const auto none = fed.feed.follow(LogScope::database("sho"), fed.start);
  for (int i = 0; i < 10; ++i) fed.insert(i % 2 ? *fed.other : *fed.orders, i);
  CHECK(one->next(nullptr) == nullptr);  // nothing is committed yet
  const Stamp upto = fed.set.commit();
  CHECK(read(*both, 10) == numbers(0, 10));
  CHECK(read(*one, 5) == std::vector<int64_t>{0, 2, 4, 6, 8});
  CHECK(none->next(nullptr) == nullptr);
  CHECK(none->passed() == upto);
  CHECK(both->next(nullptr) == nullptr);
  CHECK(both->passed() == upto);
}

TEST_CASE("a follower that comes late, or is far behind, misses nothing") {
  storage::TemporaryDirectory directory;
  Fed fed(directory.path());
  const auto early = fed.feed.follow(LogScope::collection("shop.other"), fed.start);
  constexpr int many = 60;
  // More than the feed keeps in memory.
  for (int i = 0; i < many; ++i) fed.insert(*fed.orders, i, 1 << 20);
  fed.set.commit();
  const auto late = fed.feed.follow(LogScope::collection("shop.orders"), fed.start);
  CHECK(read(*late, many) == numbers(0, many));
  for (int i = many; i < 2 * many; ++i) {
    fed.insert(*fed.orders, i, 1 << 20);
    fed.set.commit();
  }
  CHECK(read(*late, many) == numbers(many, 2 * many));
  CHECK(fed.feed.figures().kept_bytes <= static_cast<int64_t>(LogFeed::kept_bytes_max));
  CHECK(early->next(nullptr) == nullptr);
}

TEST_CASE("what readers keep in changes counts as the feed's memory") {
  storage::TemporaryDirectory directory;
  Fed fed(directory.path());
  const auto follower = fed.feed.follow(LogScope::collection("shop.orders"), fed.start);
  constexpr auto bytes_max = static_cast<int64_t>(LogFeed::kept_bytes_max);
  std::vector<LoggedChangePtr> held;
  size_t kept = 0, refused = 0;
  for (int i = 0; i < 64; ++i) {
    std::atomic<int> woken{0};
    follower->when_more([&] { ++woken; });
    fed.insert(*fed.orders, i);
    fed.set.commit();
    REQUIRE(wait_for(woken, 1));
    held.push_back(follower->next(nullptr));
    REQUIRE(held.back());
    bson::Document made = bson::json("{pad: '" + std::string(1 << 20, 'p') + "'}");
    const size_t bytes = made.size();
    const bson::Document* const shown = held.back()->show(0, made);
    CHECK(shown == held.back()->shown(0));
    CHECK((shown ? *shown : made).size() == bytes);
    ++(shown ? kept : refused);
    CHECK(fed.feed.figures().kept_bytes <= bytes_max);
  }
  CHECK(kept > 16);
  CHECK(refused > 16);
  CHECK(fed.feed.figures().kept_bytes > static_cast<int64_t>(kept) << 20);
}

TEST_CASE("followers that wait are woken by what is theirs alone") {
  storage::TemporaryDirectory directory;
  Fed fed(directory.path());
  auto mine = fed.feed.follow(LogScope::collection("shop.orders"), fed.start);
  const auto others = fed.feed.follow(LogScope::collection("shop.other"), fed.start);
  std::atomic<int> woken{0}, woken_others{0};
  mine->when_more([&] { ++woken; });
  others->when_more([&] { ++woken_others; });
  fed.insert(*fed.orders, 1);
  fed.set.commit();
  CHECK(wait_for(woken, 1));
  CHECK(read(*mine, 1) == numbers(1, 2));
  CHECK(woken_others == 0);
  mine->when_more([&] { ++woken; });
  fed.insert(*fed.other, 2);
  fed.set.commit();
  CHECK(wait_for(woken_others, 1));
  CHECK(woken == 1);
  mine.reset();  // whoever waits for it learns that it is gone
  CHECK(woken == 2);
}

TEST_CASE("a follower that comes while the feed reads misses nothing") {
  storage::TemporaryDirectory directory;
  Fed fed(directory.path());
  std::shared_ptr<LogFeed::Follower> late;
  std::atomic<int> woken{0}, woken_late{0};
  std::atomic<bool> late_has_none{false};
  auto filter = std::make_shared<LogFeed::Filter>();
  filter->name = "all";
  // The feed asks after it has read, and before others see what it has read.
  filter->wants = [&](const LoggedChange&) {
    late = fed.feed.follow(LogScope::collection("shop.other"), fed.start);
    late_has_none = late->next(nullptr) == nullptr;
    late->when_more([&] { ++woken_late; });
    return true;
  };
  const auto early = fed.feed.follow(LogScope::collection("shop.orders"), fed.start, filter);
  early->when_more([&] { ++woken; });
  fed.insert(*fed.other, 1);
  fed.insert(*fed.orders, 2);
  fed.set.commit();
  CHECK(wait_for(woken, 1));
  CHECK(late_has_none);
  CHECK(read(*early, 1) == numbers(2, 3));
  CHECK(wait_for(woken_late, 1));
  CHECK(read(*late, 1) == numbers(1, 2));
}

TEST_CASE("a filter leaves followers asleep, and keeps nothing from them") {
  storage::TemporaryDirectory directory;
  Fed fed(directory.path());
  auto filter = std::make_shared<LogFeed::Filter>();
  filter->name = "even";
  filter->wants = [](const LoggedChange& change) { return change.entry.o["_id"].to_int64() % 2 == 0; };
  const auto some = fed.feed.follow(LogScope::collection("shop.orders"), fed.start, filter);
  const auto all = fed.feed.follow(LogScope::collection("shop.orders"), fed.start);
  std::atomic<int> woken{0}, woken_all{0};
  some->when_more([&] { ++woken; });
  all->when_more([&] { ++woken_all; });
  fed.insert(*fed.orders, 1);
  fed.set.commit();
  CHECK(wait_for(woken_all, 1));
  CHECK(woken == 0);
  CHECK(read(*all, 1) == numbers(1, 2));
  fed.insert(*fed.orders, 2);
  fed.set.commit();
  CHECK(wait_for(woken, 1));
  CHECK(read(*some, 1) == numbers(2, 3));
  CHECK(read(*all, 1) == numbers(2, 3));
}

TEST_CASE("a filter that fails for a change wakes its own followers, and stops nobody") {
  storage::TemporaryDirectory directory;
  Fed fed(directory.path());
  auto filter = std::make_shared<LogFeed::Filter>();
  filter->name = "failing";
  filter->wants = [](const LoggedChange&) -> bool { throw base::OperationError(13548, "too large"); };
  const auto failing = fed.feed.follow(LogScope::collection("shop.orders"), fed.start, filter);
  const auto all = fed.feed.follow(LogScope::database("shop"), fed.start);
  for (int i = 0; i < 3; ++i) {
    std::atomic<int> woken{0};
    all->when_more([&] { ++woken; });
    std::atomic<int> woken_failing{0};
    failing->when_more([&] { ++woken_failing; });
    fed.insert(*fed.orders, i);
    fed.set.commit();
    CHECK(wait_for(woken, 1));
    CHECK(wait_for(woken_failing, 1));
    CHECK(read(*all, 1) == numbers(i, i + 1));
    CHECK(read(*failing, 1) == numbers(i, i + 1));
  }
}

TEST_CASE("a slow filter wakes its followers without having seen all changes") {
  storage::TemporaryDirectory directory;
  base::testing::StoppedClock clock;
  Fed fed(directory.path(), clock);
  std::atomic<int> asked{0}, woken{0}, woken_all{0};
  auto filter = std::make_shared<LogFeed::Filter>();
  filter->name = "slow";
  filter->wants = [&](const LoggedChange&) {
    ++asked;
    clock.advance(std::chrono::milliseconds(200));
    return false;
  };
  const auto slow = fed.feed.follow(LogScope::collection("shop.orders"), fed.start, filter);
  const auto all = fed.feed.follow(LogScope::collection("shop.orders"), fed.start);
  slow->when_more([&] { ++woken; });
  all->when_more([&] { ++woken_all; });
  for (int i = 0; i < 30; ++i) fed.insert(*fed.orders, i);
  fed.set.commit();
  CHECK(wait_for(woken_all, 1));
  CHECK(wait_for(woken, 1));
  CHECK(asked == 1);
  CHECK(read(*slow, 30) == numbers(0, 30));
}

TEST_CASE("a client's transaction has one time, and places in it") {
  storage::TemporaryDirectory directory;
  Fed fed(directory.path());
  const auto follower = fed.feed.follow(LogScope::database("shop"), fed.start);
  const Bytes session(SessionWrite::id_bytes, 's');
  Stamp end = 0;
  fed.member.write([&](storage::Transaction& transaction) {
    for (int i = 0; i < 3; ++i) {
      const SessionWrite write{.session = session,
                               .txn_number = 7,
                               .part = i == 2 ? SessionWrite::Part::transaction_end : SessionWrite::Part::transaction};
      const auto document = bson::json("{_id: " + std::to_string(i) + "}");
      end = fed.member.committer.insert(transaction, *fed.orders, document, &write).generation;
    }
  });
  fed.set.commit();
  for (int i = 0; i < 3; ++i) {
    LoggedChangePtr change;
    REQUIRE(base::testing::wait_until([&] { return (change = follower->next(nullptr)) != nullptr; }));
    CHECK(change->time == end);
    CHECK(change->index == i);
    CHECK(change->session == session);
    CHECK(change->txn_number == 7);
    const auto found = find_change(fed.member.store, fed.member.oplog, change->time, change->index);
    REQUIRE(found);
    CHECK(found->row == change->row);
  }
  CHECK(find_change(fed.member.store, fed.member.oplog, end, 3) == nullptr);
  CHECK(row_before(fed.member.store, fed.member.oplog, end) == end - 3);
}

TEST_CASE("a large transaction is looked at three times, in however many parts it is read") {
  storage::TemporaryDirectory directory;
  Fed fed(directory.path());
  const auto early = fed.feed.follow(LogScope::collection("shop.other"), fed.start);
  const Bytes session(SessionWrite::id_bytes, 's');
  constexpr int count = 60'000;
  fed.member.write([&](storage::Transaction& transaction) {
    for (int i = 0; i < count; ++i) {
      const SessionWrite write{.session = session,
                               .txn_number = 7,
                               .part = i + 1 == count ? SessionWrite::Part::transaction_end : SessionWrite::Part::transaction};
      fed.member.committer.insert(transaction, *fed.orders, bson::json("{_id: " + std::to_string(i) + "}"), &write);
    }
  });
  const Stamp upto = fed.set.commit();
  REQUIRE(base::testing::wait_until([&] {
    CHECK(early->next(nullptr) == nullptr);
    return early->passed() >= upto;
  }));
  // Reads the log itself: the feed has passed it by, and kept nothing of this scope.
  const auto late = fed.feed.follow(LogScope::collection("shop.orders"), fed.start);
  int64_t checks = 0;
  const base::Interrupted counted = [&] { ++checks; };
  for (int i = 0; i < count;) {
    const auto change = late->next(counted);
    if (!change) continue;
    if (change->index != i) FAIL("row " << i << " has the place " << change->index);
    ++i;
  }
  CHECK(fed.feed.figures().read_behind == count);
  // Once for the transaction's end, once for the places, once for the changes.
  constexpr int64_t rows_between_checks = 256, once = count / rows_between_checks;
  CHECK(checks > 5 * once / 2);
  CHECK(checks < 7 * once / 2);
}

TEST_CASE("changes of a collection that is dropped meanwhile are still read") {
  storage::TemporaryDirectory directory;
  Fed fed(directory.path());
  fed.insert(*fed.orders, 1);
  fed.member.store.catalog().drop("shop.orders");
  fed.set.commit();
  const auto follower = fed.feed.follow(LogScope::collection("shop.orders"), fed.start);
  CHECK(read(*follower, 1) == numbers(1, 2));
  LoggedChangePtr drop;
  REQUIRE(base::testing::wait_until([&] { return (drop = follower->next(nullptr)) != nullptr; }));
  CHECK(drop->entry.o.first().name == "drop");
}

}  // namespace
}  // namespace replication
