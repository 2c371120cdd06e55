#include "storage/background/dedup_queue.h"

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "storage/background/background_pace.h"
#include "storage/background/write_burst.h"
#include "storage/contents/chain_cut.h"

using namespace storage;

TEST_CASE("each thread's work comes out of the queue once and in its order") {
  constexpr uint32_t threads = 4;
  constexpr RecordId each = 5000;
  DedupQueue queue(1 << 20, threads * each);
  std::vector<std::thread> pushing;
  for (uint32_t thread = 0; thread < threads; ++thread) {
    pushing.emplace_back([&, thread] {
      for (RecordId record = 1; record <= each; ++record)
        queue.push({.collection = thread, .record = record, .content = base::Bytes(10, 'x')});
    });
  }
  RecordId last[threads] = {};
  size_t taken = 0;
  while (taken < threads * each) {
    for (const auto& work : queue.take(100, 500)) {
      REQUIRE(work.record == last[work.collection] + 1);
      last[work.collection] = work.record;
      ++taken;
    }
  }
  for (auto& thread : pushing) thread.join();
  CHECK(queue.size() == 0);
  CHECK(queue.bytes() == 0);
  CHECK(queue.take(1, 1).empty());
}

TEST_CASE("a full queue keeps names, a fuller one nothing but what was dropped") {
  DedupQueue queue(25, 4);
  CHECK(queue.has_room(25));
  for (RecordId record = 1; record <= 4; ++record) CHECK(queue.push({.record = record, .content = base::Bytes(10, 'x')}));
  CHECK(queue.bytes() == 20);
  CHECK_FALSE(queue.has_room(10));
  CHECK(queue.dropped() == 2);
  CHECK_FALSE(queue.push({.record = 5, .content = base::Bytes(1, 'x')}));
  CHECK_FALSE(queue.push({.kind = DedupWork::Kind::removed, .record = 1}));
  CHECK(queue.refused() == 2);
  CHECK(queue.push({.kind = DedupWork::Kind::dropped, .collection = 7}));
  const auto taken = queue.take(10, 1000);
  REQUIRE(taken.size() == 5);
  CHECK(taken[1].content);
  CHECK_FALSE(taken[2].content);
  CHECK(taken[4].kind == DedupWork::Kind::dropped);
}

TEST_CASE("a thread that had to wait for the CPU rests longer than it worked, one that had not goes on") {
  CHECK(BackgroundPace::rest_after(1'000'000, 0).count() == 0);
  CHECK(BackgroundPace::rest_after(1'000'000, 100'000).count() == 0);
  CHECK(BackgroundPace::rest_after(1'000'000, 900'000).count() >= 5'000);
  CHECK(BackgroundPace::rest_after(1'000'000'000, 900'000'000).count() <= 100'000);
  BackgroundPace pace;
  CHECK(pace.rest().count() >= 0);
}

TEST_CASE("a burst of writes waits to be encoded until it is over, more than the queue can name, or lasts too long") {
  constexpr int64_t ms = 1000;
  WriteBurst burst;
  int64_t now = 5'000'000 * ms;
  burst.over(now);
  CHECK(burst.lasts(now + ms, now, {64, false}));
  CHECK(burst.lasts(now + 500 * ms, now + 499 * ms, {400, false}));
  CHECK_FALSE(burst.lasts(now + 600 * ms, now + 500 * ms, {400, false}));  // Nobody wrote for a while.
  CHECK(burst.lasts(now + 700 * ms, now + 699 * ms, {400, false}));        // This is the next burst.

  SECTION("more than the queue can name") {
    CHECK_FALSE(burst.lasts(now + 800 * ms, now + 799 * ms, {0, true}));
    // Then everything is encoded, although clients go on writing.
    CHECK_FALSE(burst.lasts(now + 900 * ms, now + 899 * ms, {65, false}));
    CHECK_FALSE(burst.lasts(now + 900 * ms, now + 899 * ms, {10, true}));
    CHECK(burst.lasts(now + 950 * ms, now + 949 * ms, {64, false}));
  }
  SECTION("time") {
    now += 600 * ms + WriteBurst::waits_us_max;
    CHECK(burst.lasts(now, now - ms, {400, false}));
    CHECK_FALSE(burst.lasts(now + ms, now, {400, false}));
    CHECK_FALSE(burst.lasts(now + 2 * ms, now + ms, {100, false}));
    CHECK(burst.lasts(now + 3 * ms, now + 2 * ms, {10, false}));
    CHECK(burst.lasts(now + WriteBurst::waits_us_max, now + WriteBurst::waits_us_max - ms, {400, false}));
  }
}

namespace {

// This function returns how many bytes a read of the oldest content of a chain makes at worst under these bounds, with plain
// backward encoding.
uint64_t longest_run(uint32_t versions, size_t bytes, const ChainBounds& bounds) {
  uint64_t run = 0, longest = 0;
  for (uint32_t ordinal = 0; ordinal + 1 < versions; ++ordinal) {
    dedup::Backward backward{.target = {},
                             .base = {},
                             .target_placement = {1, ordinal},
                             .base_placement = {1, ordinal + 1},
                             .delta = {},
                             .target_bytes = bytes,
                             .saved_bytes = 0};
    run = cuts_chain(backward, 0, bounds) ? 0 : run + 1;
    longest = std::max(longest, run);
  }
  return longest;
}

}  // namespace

TEST_CASE("chains are cut where a read would make too much, and nowhere else") {
  CHECK(hops_at_worst(500, 0) == 500);
  CHECK(hops_at_worst(500, 16) == 45);
  CHECK(hops_at_worst(3, 16) == 3);
  const ChainBounds bounds{.read_bytes_max = 100'000, .hops_max = 1000};
  CHECK(longest_run(90, 1000, bounds) == 89);
  CHECK(longest_run(10'000, 1000, bounds) <= 2 * 100'000 / 1000);
  CHECK(longest_run(10'000, 10, bounds) <= 2 * bounds.hops_max);
  CHECK(longest_run(10'000, 90'000, bounds) <= 8);
}
