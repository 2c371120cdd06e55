// These tests run the scheduler over tasks that only count, with a clock that stands still.
#include "storage/background/scheduler.h"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "base/testing.h"

using namespace storage;
using namespace std::chrono_literals;
using base::testing::wait_until;

namespace {

// This task has as many works as the test gives it, and does one in each step.
struct Counted final : Task {
  bool step(const Round& round) override {
    ++steps;
    while (holds_steps) {
      is_held = true;
      std::this_thread::sleep_for(1ms);
    }
    draining = draining || round.draining;
    tidying = tidying || round.tidying;
    idle = round.idle;
    quiet = round.quiet;
    if (fails.exchange(false)) throw std::runtime_error("the task was told to fail");
    if (left == 0) return false;
    --left;
    return true;
  }
  void finish() override { finished = true; }
  WriteBurst::Waiting waiting() const override {
    ++looks;
    return {.count = left};
  }
  bool awaited() const override { return is_awaited; }
  bool needs_room() const override { return wants_room; }
  bool moves_contents() const override { return moves; }

  std::atomic<size_t> left{0}, steps{0};
  mutable std::atomic<size_t> looks{0};                  // so often the scheduler asked what is waiting
  std::atomic<bool> holds_steps{false}, is_held{false};  // a step lasts while the first is set, and sets the second
  std::atomic<bool> draining{false}, tidying{false}, idle{false}, quiet{false};
  std::atomic<bool> fails{false}, finished{false}, is_awaited{false}, wants_room{true}, moves{true};
};

struct Scheduled {
  void start() {
    scheduler.start(
        {&first, &second}, [this] { return has_room.load(); }, &drafts);
  }
  // A client leaves works for the first task.
  void write(size_t works) {
    scheduler.client_wrote();
    first.left += works;
    scheduler.wake();
  }
  // While a burst lasts, the thread asks again and again what is waiting, and would do it if the burst were over.
  bool asks_again() {
    const size_t before = first.looks;
    return wait_until([&] { return first.looks >= before + 3; });
  }

  base::testing::StoppedClock clock;
  Counted first, second;
  Drafts drafts;
  std::atomic<bool> has_room{true};
  Scheduler scheduler{clock, "dedup"};
};

}  // namespace

TEST_CASE("a task gets a step only when the more urgent ones have nothing to do") {
  Scheduled all;
  all.first.left = 5;
  all.second.left = 3;
  all.clock.advance(1h);  // No burst is on.
  all.start();
  all.scheduler.drain(false);
  CHECK(all.first.left == 0);
  CHECK(all.second.left == 0);
  {
    const auto held = all.scheduler.hold();
    CHECK(all.first.steps == all.second.steps + 5);
    CHECK_FALSE(all.first.finished);
  }
  CHECK(all.scheduler.stop());
  CHECK(all.first.finished);
  CHECK(all.second.finished);
  CHECK_FALSE(all.scheduler.stop());
}

TEST_CASE("without room on the disk only tasks that need none work, and the others go on when there is some") {
  Scheduled all;
  all.first.left = 5;
  all.second.left = 3;
  all.second.wants_room = false;
  all.has_room = false;
  all.clock.advance(1h);
  all.start();
  all.scheduler.drain(false);  // It waits for no work that is put off.
  CHECK(all.first.left == 5);
  CHECK(all.second.left == 0);
  all.has_room = true;
  CHECK(wait_until([&] { return all.first.left == 0; }));
}

TEST_CASE("the longer there was nothing to do, the longer is a nap") {
  CHECK(Scheduler::nap_after(0s) == 10ms);
  CHECK(Scheduler::nap_after(2s) == 50ms);
  CHECK(Scheduler::nap_after(10s) == 250ms);
  CHECK(Scheduler::nap_after(1h) == 500ms);
}

TEST_CASE("a task learns how long no client has written, and who waits") {
  Scheduled all;
  all.scheduler.client_wrote();
  all.start();
  REQUIRE(wait_until([&] { return all.first.steps > 0; }));
  CHECK_FALSE(all.first.idle);
  CHECK_FALSE(all.first.draining);
  all.clock.advance(21ms);
  REQUIRE(wait_until([&] { return all.first.idle.load(); }));
  CHECK_FALSE(all.first.quiet);
  all.clock.advance(2s);
  REQUIRE(wait_until([&] { return all.first.quiet.load(); }));
  all.scheduler.drain(false);
  CHECK(all.first.draining);
  CHECK_FALSE(all.first.tidying);
  all.scheduler.drain(true);
  CHECK(all.first.tidying);
}

TEST_CASE("a burst of writes is let pass, unless it lasts too long or somebody waits") {
  Scheduled all;
  all.start();
  all.scheduler.drain(false);
  all.write(300);
  // One batch is done before the burst is noticed.
  REQUIRE(wait_until([&] { return all.first.left == 299; }));
  REQUIRE(all.asks_again());
  REQUIRE(all.first.left == 299);

  SECTION("it is over") {
    all.clock.advance(21ms);
    CHECK(wait_until([&] { return all.first.left == 0; }));
  }
  SECTION("it lasts too long") {
    for (auto lasted = 0ms; lasted < 3000ms; lasted += 15ms) {
      all.clock.advance(15ms);
      all.scheduler.client_wrote();
    }
    REQUIRE(all.asks_again());
    CHECK(all.first.left >= 298);
    all.clock.advance(15ms);
    all.scheduler.client_wrote();
    // The thread works until it has caught up, although clients go on writing.
    CHECK(wait_until([&] { return all.first.left <= WriteBurst::caught_up; }));
    REQUIRE(all.asks_again());
    CHECK(all.first.left > 0);
  }
  SECTION("somebody drains") {
    all.scheduler.drain(false);
    CHECK(all.first.left == 0);
  }
  SECTION("somebody waits for a task") {
    all.second.is_awaited = true;
    all.scheduler.call();
    CHECK(wait_until([&] { return all.first.left == 0; }));
  }
}

TEST_CASE("however long there was nothing to do, what is written is taken up at once") {
  Scheduled all;
  all.start();
  // A nap lasts half a second by now. The work is taken up at once if it is done before a nap that began at `earliest` would end
  // by itself. On a slow machine the thread isn't quick in every try.
  constexpr auto nap = 500ms;
  CHECK(wait_until([&] {
    all.clock.advance(1h);
    const size_t steps = all.first.steps;
    REQUIRE(wait_until([&] { return all.first.steps > steps; }));
    const size_t looks = all.first.looks;
    auto earliest = std::chrono::steady_clock::now();
    REQUIRE(wait_until([&] {
      const auto now = std::chrono::steady_clock::now();
      if (all.first.looks > looks) return true;
      earliest = now;
      return false;
    }));
    all.scheduler.running();  // The thread looks before it naps, with a lock that this call waits for.
    all.write(1);
    REQUIRE(wait_until([&] { return all.first.left == 0; }));
    return std::chrono::steady_clock::now() - earliest < nap;
  }));
}

TEST_CASE("nothing is done while the lock is held") {
  Scheduled all;
  all.start();
  all.scheduler.drain(false);
  all.clock.advance(1h);
  // The lock keeps steps and its holder apart. A thread that wants the lock during a step waits for the step's end, which can be
  // seen; a thread that waits to begin a step can't be seen.
  all.first.holds_steps = true;
  REQUIRE(wait_until([&] { return all.first.is_held.load(); }));
  const size_t before = all.first.steps;
  std::atomic<bool> holds{false};
  std::atomic<size_t> steps_at_first{0}, steps_at_last{0};
  std::thread holder([&] {
    const auto held = all.scheduler.hold();
    holds = true;
    steps_at_first = all.first.steps.load();
    all.write(1);
    steps_at_last = all.first.steps.load();
  });
  CHECK(wait_until([&] { return all.scheduler.hold_awaited(); }));
  CHECK_FALSE(holds);
  all.first.holds_steps = false;
  holder.join();
  CHECK(steps_at_first == before);
  CHECK(steps_at_last == before);
  CHECK(wait_until([&] { return all.first.left == 0; }));
}

TEST_CASE("a task that fails is tried again") {
  Scheduled all;
  all.start();
  all.first.fails = true;
  all.first.left = 1;
  all.scheduler.drain(false);
  all.scheduler.drain(false);
  CHECK_FALSE(all.first.fails);
  CHECK(all.first.left == 0);
}

TEST_CASE("a task that moves contents has no turn while a draft is open, and others have") {
  Scheduled all;
  all.second.moves = false;
  all.clock.advance(1h);
  {
    const auto draft = all.drafts.hold(nullptr);
    all.first.left = 2;
    all.second.left = 2;
    all.start();
    CHECK(wait_until([&] { return all.second.left == 0; }));
    // In each round the second task has its turn after the first one.
    CHECK(wait_until([&, before = all.second.steps.load()] { return all.second.steps >= before + 3; }));
    CHECK(all.first.left == 2);
    CHECK(all.first.steps == 0);
  }
  CHECK(wait_until([&] { return all.first.left == 0; }));
}

TEST_CASE("a draft waits for a step that moves contents, and the step learns of it") {
  Drafts drafts;
  auto alone = drafts.try_alone(false);
  REQUIRE(alone);
  std::atomic<bool> begun{false};
  std::thread client([&] {
    const auto draft = drafts.hold(nullptr);
    begun = true;
  });
  CHECK(wait_until([&] { return drafts.awaited(); }));
  CHECK_FALSE(begun);
  alone = {};
  client.join();
  CHECK_FALSE(drafts.awaited());
  const auto draft = drafts.hold(nullptr);
  CHECK_FALSE(drafts.try_alone(false));
  CHECK_FALSE(drafts.try_alone(true));
  CHECK(drafts.hold(nullptr));  // whoever waited in vain keeps no draft from beginning
}
