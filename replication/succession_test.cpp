#include "replication/succession.h"

#include <catch2/catch.hpp>

#include "replication/member_ids.h"

using namespace replication;
using consensus::Index;
using consensus::MemberId;
using Move = Succession::Move;
using Outcome = Succession::Outcome;

namespace {

constexpr int64_t second = 1'000'000;

// Members 1, 2 and 3, of priorities 1, 2 and 3; 1 is primary, and its log ends at 5000.
struct Set {
  int64_t now = 100 * second;
  bool primary = true, drained = true;
  SetConfig config;
  consensus::Membership members;
  std::vector<consensus::PeerProgress> progress;
  std::set<MemberId> standing{2, 3};

  Set() {
    for (int32_t i = 0; i < 3; ++i) {
      config.members.emplace_back();
      config.members.back().id = i;
      config.members.back().priority = i + 1;
      members.voters.push_back(consensus_id(config.members.back()));
      progress.push_back({.id = members.voters.back(), .matched = 5000, .recently_active = true});
    }
  }
  consensus::PeerProgress& at(MemberId id) { return progress[id - 1]; }
  SuccessionView view() const {
    return {.primary = primary,
            .drained = drained,
            .config = config,
            .self = 1,
            .last = 5000,
            .members = members,
            .progress = progress,
            .stands = [this](MemberId id) { return standing.contains(id); }};
  }
  Move next(Succession& succession) const { return succession.next(view(), now); }
  void nobody_in_reach() { at(2).recently_active = at(3).recently_active = false; }
};

void expect(const Set& set, Succession& succession, const std::vector<Move>& moves) {
  for (const Move move : moves) REQUIRE(set.next(succession) == move);
}

}  // namespace

TEST_CASE("electable voters in reach that have the log may succeed, the highest priority first") {
  Set set;
  CHECK(caught_up(set.view(), 0).size() == 2);
  CHECK(caught_up(set.view(), 0).front().id == 3);
  set.at(3).matched = 4990;
  CHECK(caught_up(set.view(), 0).front().id == 2);
  CHECK(caught_up(set.view(), 10).front().id == 3);
  set.at(2).recently_active = false;
  CHECK(caught_up(set.view(), 0).empty());
  set.config.members[2].priority = 0;
  CHECK(caught_up(set.view(), 10).empty());
  set.config.members[2].priority = 3;
  set.members.voters = {1, 2};
  CHECK(caught_up(set.view(), 10).empty());
}

TEST_CASE("a frozen member isn't chosen, and neither is one that was asked in vain") {
  Set set;
  CHECK(best_caught_up(set.view(), 1, {}, 0) == MemberId{3});
  set.standing = {2};
  CHECK(best_caught_up(set.view(), 1, {}, 0) == MemberId{2});
  CHECK_FALSE(best_caught_up(set.view(), 1, {2}, 0));
  CHECK_FALSE(best_caught_up(set.view(), 2, {}, 0));
}

TEST_CASE("a member is spared where a majority of the voters in reach is left") {
  Set set;
  const auto without_first = [&] { return elect_without(set.members, set.progress, 1); };
  CHECK(without_first());
  set.at(2).recently_active = false;
  CHECK_FALSE(without_first());
  set.at(2).recently_active = true;
  set.members.voters_outgoing = {1, 2};
  CHECK_FALSE(without_first());
  set.members.voters_outgoing = {2, 3};
  CHECK(without_first());
  set.members.voters = {1, 2};
  CHECK_FALSE(without_first());
  set.members.voters = {1};
  CHECK_FALSE(without_first());
}

TEST_CASE("a better member takes over once it has all writes") {
  Set set;
  set.at(3).matched = 4990;
  set.standing = {3};
  set.drained = false;
  Succession succession = Succession::to_better(1);
  expect(set, succession, {Move::stop_writes, Move::drain});
  CHECK(succession.writes_stopped());
  CHECK(succession.until_us() == set.now + 5 * second);
  set.drained = true;
  expect(set, succession, {Move::look_again, Move::look_again});
  set.at(3).matched = 5000;
  expect(set, succession, {Move::transfer, Move::look_again});
  CHECK(succession.successor() == 3);
  set.primary = false;
  expect(set, succession, {Move::over});
  CHECK(succession.outcome() == Outcome::succeeded);
  CHECK_FALSE(succession.writes_stopped());
}

TEST_CASE("nobody is handed over to who isn't better, or doesn't catch up in time") {
  Set set;
  Succession alone = Succession::to_better(3);
  expect(set, alone, {Move::over});
  CHECK(alone.outcome() == Outcome::led_on);

  set.at(3).matched = 4990;
  Succession late = Succession::to_better(2);
  expect(set, late, {Move::stop_writes, Move::drain, Move::look_again});
  set.now += 5 * second + 1;
  expect(set, late, {Move::over});
  CHECK(late.outcome() == Outcome::led_on);

  set.drained = false;
  Succession slow = Succession::to_better(2);
  expect(set, slow, {Move::stop_writes, Move::drain});
  set.now += 5 * second;
  expect(set, slow, {Move::over});
  CHECK(slow.outcome() == Outcome::led_on);
}

TEST_CASE("a step-down asks the next one when the first doesn't take over, and writes go on in between") {
  Set set;
  Succession succession = Succession::step_down({}, set.now);
  expect(set, succession, {Move::stop_writes, Move::drain, Move::transfer, Move::look_again});
  CHECK(succession.successor() == 3);
  set.now += 2 * second;
  expect(set, succession, {Move::look_again});
  CHECK_FALSE(succession.writes_stopped());
  expect(set, succession, {Move::stop_writes, Move::drain, Move::transfer});
  CHECK(succession.successor() == 2);
  set.now += 2 * second;
  expect(set, succession, {Move::look_again, Move::look_again, Move::stop_writes});  // all were asked: it begins anew
  set.primary = false;
  expect(set, succession, {Move::over});
  CHECK(succession.outcome() == Outcome::succeeded);
}

TEST_CASE("a step-down fails at its deadline when nobody has nearly caught up, and this member leads on") {
  Set set;
  set.nobody_in_reach();
  Succession succession = Succession::step_down({.catch_up_ms = 1000}, set.now);
  expect(set, succession, {Move::look_again});
  set.now += second;
  expect(set, succession, {Move::over});
  CHECK(succession.outcome() == Outcome::none_caught_up);
}

TEST_CASE("a step-down that finds only frozen members with the log resigns") {
  Set set;
  set.standing.clear();
  Succession succession = Succession::step_down({.catch_up_ms = 1000}, set.now);
  expect(set, succession, {Move::look_again, Move::look_again});
  set.now += second;
  set.at(2).matched = set.at(3).matched = 4990;
  set.drained = false;
  expect(set, succession, {Move::stop_writes, Move::drain, Move::drain});
  set.drained = true;
  expect(set, succession, {Move::look_again});
  set.at(2).matched = 5000;
  expect(set, succession, {Move::resign, Move::look_again});
  set.primary = false;
  expect(set, succession, {Move::over});
  CHECK(succession.outcome() == Outcome::resigned);
}

TEST_CASE("a step-down leads on when the last second brings nobody the whole log") {
  Set set;
  set.standing.clear();
  set.at(2).matched = set.at(3).matched = 4990;
  Succession succession = Succession::step_down({.catch_up_ms = 1000}, set.now);
  set.now += second;
  expect(set, succession, {Move::stop_writes, Move::drain, Move::look_again});
  CHECK(succession.writes_stopped());
  set.now += second;
  expect(set, succession, {Move::over});
  CHECK(succession.outcome() == Outcome::none_caught_up);
  CHECK_FALSE(succession.writes_stopped());
}

TEST_CASE("a forced step-down resigns alone, after half a second for the others to answer") {
  Set set;
  set.nobody_in_reach();
  Succession succession = Succession::step_down({.catch_up_ms = 0, .force = true}, set.now);
  expect(set, succession, {Move::look_again});
  set.now += second / 2;
  expect(set, succession, {Move::stop_writes, Move::drain, Move::resign, Move::look_again});
  set.now += 2 * second;
  expect(set, succession, {Move::over});
  CHECK(succession.outcome() == Outcome::resigned);
}
