#include "replication/member_machine.h"

#include <catch2/catch.hpp>

using namespace replication;
using consensus::Role;
using TakeOver = MemberMachine::TakeOver;

namespace {

constexpr int64_t second = 1'000'000;

struct Member {
  int64_t now = 100 * second;
  MemberMachine machine{now};

  explicit Member(const MemberPart& part = {true, false, true}) {
    machine.configure(part, true, now);
    machine.begin(now);
  }
  MemberMachine::Stood stand(Role role, consensus::Term term) { return machine.stand({role, term, 0}, now); }
  void become_primary(consensus::Term term) {
    stand(Role::leader, term);
    REQUIRE(machine.take_over(true, false, now) == TakeOver::now);
    REQUIRE(machine.write_in(term));
    REQUIRE(machine.lead(term, now));
    REQUIRE(machine.state() == MemberState::primary);
  }
};

}  // namespace

TEST_CASE("a member's state follows its configuration while it doesn't lead") {
  Member member;
  CHECK(member.machine.state() == MemberState::secondary);
  member.machine.configure({}, true, member.now);
  CHECK(member.machine.state() == MemberState::removed);
  CHECK_FALSE(member.machine.electable());
  member.machine.configure({true, false, true}, true, member.now);
  CHECK(member.machine.state() == MemberState::secondary);
  CHECK(Member({true, true, false}).machine.state() == MemberState::arbiter);

  Member primary;
  primary.become_primary(3);
  primary.machine.configure({true, false, false}, true, primary.now);
  CHECK(primary.machine.state() == MemberState::primary);

  MemberMachine fresh(0);
  fresh.configure({true, false, true}, false, 0);
  CHECK(fresh.state() == MemberState::startup);
  fresh.await_data(5);
  CHECK(fresh.state() == MemberState::startup2);
  CHECK(fresh.since_us() == 5);
}

TEST_CASE("a member whose priority is 0 stands last, and passes on the lead") {
  using When = consensus::Candidacy::When;
  CHECK(Member().machine.candidacy(2).when == When::as_ranked);
  CHECK(Member().machine.candidacy(2).rank == 2);
  CHECK(Member({true, true, false}).machine.candidacy(0).when == When::never);
  CHECK(Member({false, false, false}).machine.candidacy(0).when == When::never);

  Member member({true, false, false});
  CHECK(member.machine.candidacy(0).when == When::last);
  CHECK_FALSE(member.machine.electable());
  CHECK_FALSE(member.machine.pass_on_due(member.now));
  member.stand(Role::leader, 5);
  CHECK(member.machine.take_over(true, false, member.now) == TakeOver::no);
  CHECK(member.machine.pass_on_due(member.now += 1'000'000));
  CHECK_FALSE(member.machine.pass_on_due(member.now));
  CHECK(member.machine.state() == MemberState::secondary);
  member.machine.configure({true, false, true}, true, member.now);  // its priority was raised meanwhile
  CHECK_FALSE(member.machine.pass_on_due(member.now += 1'000'000));
  CHECK(member.machine.take_over(true, false, member.now) == TakeOver::now);

  member.stand(Role::follower, 6);
  member.machine.freeze(60'000'000, member.now);
  member.machine.renew_electable(member.now);
  CHECK(member.machine.candidacy(0).when == When::never);
}

TEST_CASE("a member whose disk is full stands last, and passes on the lead until it has room") {
  using When = consensus::Candidacy::When;
  Member member;
  member.machine.lack_room(true);
  CHECK(member.machine.candidacy(2).when == When::last);
  CHECK_FALSE(member.machine.pass_on_due(member.now));
  member.stand(Role::leader, 5);
  CHECK(member.machine.take_over(true, false, member.now) == TakeOver::no);
  CHECK(member.machine.take_over(false, true, member.now + 60 * second) == TakeOver::no);
  CHECK(member.machine.pass_on_due(member.now += second));
  CHECK(member.machine.state() == MemberState::secondary);
  member.machine.lack_room(false);
  CHECK(member.machine.candidacy(2).when == When::as_ranked);
  CHECK_FALSE(member.machine.pass_on_due(member.now += second));
  CHECK(member.machine.take_over(true, false, member.now) == TakeOver::now);

  Member primary;
  primary.become_primary(5);
  primary.machine.lack_room(true);  // it goes on: deletes make room
  CHECK(primary.machine.state() == MemberState::primary);
  CHECK_FALSE(primary.machine.pass_on_due(primary.now += second));
}

TEST_CASE("a member that has no room for any write leads only until another can") {
  using When = consensus::Candidacy::When;
  Member member;
  CHECK(member.machine.lack_all_room(true));
  CHECK_FALSE(member.machine.lack_all_room(true));
  CHECK(member.machine.candidacy(2).when == When::last);
  member.stand(Role::leader, 5);
  CHECK(member.machine.take_over(true, false, member.now) == TakeOver::no);
  CHECK(member.machine.pass_on_due(member.now += second));
  CHECK(member.machine.lack_all_room(false));
  CHECK(member.machine.candidacy(2).when == When::as_ranked);
  CHECK_FALSE(member.machine.pass_on_due(member.now += second));
  CHECK(member.machine.take_over(true, false, member.now) == TakeOver::now);

  Member primary;
  primary.become_primary(5);
  primary.machine.lack_all_room(true);  // the driver looks for a successor
  CHECK(primary.machine.state() == MemberState::primary);
  CHECK(primary.machine.primary_due(primary.now += 10 * second).hand_over);
}

TEST_CASE("an elected member is primary once it has caught up, and not when its term is over") {
  Member member;
  CHECK(member.machine.take_over(true, false, member.now) == TakeOver::no);  // it isn't elected
  member.stand(Role::leader, 5);
  CHECK(member.machine.about_to_lead());
  CHECK(member.machine.take_over(false, false, member.now + 60 * second) == TakeOver::no);
  CHECK(member.machine.take_over(true, false, member.now) == TakeOver::now);
  CHECK(member.machine.write_in(5));
  member.stand(Role::follower, 6);
  CHECK_FALSE(member.machine.lead(5, member.now));
  CHECK(member.machine.state() == MemberState::secondary);
  CHECK(member.machine.due(member.now).end_leadership);
  CHECK(member.machine.stop_writing());
  CHECK_FALSE(member.machine.stop_writing());
}

TEST_CASE("with arbiters a new primary waits half a second for its first entry, and then goes ahead") {
  Member member;
  member.stand(Role::leader, 5);
  CHECK(member.machine.take_over(false, true, member.now + second / 4) == TakeOver::no);
  CHECK(member.machine.take_over(false, true, member.now + second / 2) == TakeOver::ahead);
  CHECK(member.machine.take_over(true, true, member.now) == TakeOver::now);
}

TEST_CASE("a primary that loses its leadership steps down at once, and is unsure until that is dealt with") {
  Member member;
  member.become_primary(5);
  CHECK_FALSE(member.machine.unsure());
  const auto stood = member.stand(Role::follower, 6);
  CHECK(stood.led);
  CHECK(stood.stepped_down);
  CHECK(member.machine.state() == MemberState::secondary);
  CHECK(member.machine.unsure());
  member.stand(Role::leader, 7);
  CHECK(member.machine.take_over(true, false, member.now) == TakeOver::no);
  auto due = member.machine.due(member.now);
  CHECK(due.end_leadership);
  CHECK_FALSE(due.roll_back);
  CHECK(member.machine.take_over(true, false, member.now) == TakeOver::now);
  CHECK_FALSE(member.machine.due(member.now).end_leadership);

  member.machine.replaced();
  CHECK(member.machine.unsure());
  CHECK(member.machine.due(member.now).roll_back);
}

TEST_CASE("a member is not electable while it is frozen, in maintenance or removed") {
  Member member;
  CHECK(member.machine.electable());
  CHECK_FALSE(member.machine.renew_electable(member.now));
  member.machine.freeze(10 * second, member.now);
  CHECK(member.machine.renew_electable(member.now));
  CHECK_FALSE(member.machine.electable());
  member.machine.freeze(5 * second, member.now);  // doesn't shorten it
  CHECK_FALSE(member.machine.renew_electable(member.now + 9 * second));
  CHECK(member.machine.renew_electable(member.now + 10 * second));
  CHECK(member.machine.electable());
  member.machine.freeze(10 * second, member.now);
  CHECK(member.machine.renew_electable(member.now));
  member.machine.freeze(0, member.now);
  CHECK(member.machine.renew_electable(member.now));
  CHECK(member.machine.electable());

  CHECK_FALSE(member.machine.maintain(false, member.now));
  CHECK(member.machine.maintain(true, member.now));
  CHECK(member.machine.maintain(true, member.now));
  CHECK(member.machine.state() == MemberState::recovering);
  CHECK_FALSE(member.machine.electable());
  CHECK(member.machine.maintain(false, member.now));
  CHECK(member.machine.state() == MemberState::recovering);
  CHECK(member.machine.maintain(false, member.now));
  CHECK(member.machine.state() == MemberState::secondary);
  CHECK(member.machine.electable());

  member.machine.resign_until(member.now + second);
  CHECK_FALSE(member.machine.electable());
  CHECK(member.machine.renew_electable(member.now + second));
  CHECK(member.machine.electable());
}

TEST_CASE("a member with damaged data copies another's once somebody else leads") {
  Member member;
  member.machine.data_damaged();
  CHECK_FALSE(member.machine.due(member.now).copy);  // nobody leads
  member.machine.stand({Role::follower, 2, 7}, member.now);
  CHECK(member.machine.due(member.now).copy);
  CHECK(member.machine.copy_wanted());

  Member arbiter({true, true, false});
  arbiter.machine.data_damaged();
  arbiter.machine.stand({Role::follower, 2, 7}, arbiter.now);
  CHECK_FALSE(arbiter.machine.due(arbiter.now).copy);

  Member primary;
  primary.become_primary(2);
  CHECK_FALSE(primary.machine.primary_due(primary.now).step_down);
  primary.machine.data_damaged();
  CHECK_FALSE(primary.machine.due(primary.now).copy);
  CHECK(primary.machine.primary_due(primary.now + second).step_down);
  CHECK_FALSE(primary.machine.primary_due(primary.now + 2 * second).step_down);  // ten seconds apart
  CHECK(primary.machine.primary_due(primary.now + 11 * second).step_down);
  primary.machine.stand({Role::follower, 3, 7}, primary.now + 12 * second);
  CHECK_FALSE(primary.machine.copy_wanted());  // the end of its leadership comes first
  CHECK(primary.machine.due(primary.now + 12 * second).end_leadership);
  CHECK(primary.machine.due(primary.now + 13 * second).copy);
}

TEST_CASE("a member whose data isn't trusted is neither read from nor elected, and copies another's") {
  Member member;
  member.machine.distrust_data();
  member.machine.begin(member.now);
  CHECK(member.machine.state() == MemberState::recovering);
  CHECK_FALSE(member.machine.electable());
  CHECK(member.machine.candidacy(0).when == consensus::Candidacy::When::never);
  CHECK_FALSE(member.machine.maintain(false, member.now));  // that is no maintenance
  CHECK_FALSE(member.machine.due(member.now).copy);
  member.machine.stand({Role::follower, 2, 7}, member.now);
  CHECK(member.machine.due(member.now).copy);
}

TEST_CASE("a member that can't replay the log is not electable") {
  Member member;
  REQUIRE(member.machine.electable());
  member.machine.data_damaged();
  CHECK(member.machine.electable());
  member.machine.end_replay();
  CHECK_FALSE(member.machine.electable());
}

TEST_CASE("what is due comes round, and a copy is tried again after ten seconds") {
  Member member;
  CHECK_FALSE(member.machine.due(member.now).copy);
  member.machine.fall_behind({}, false);
  CHECK(member.machine.copy_wanted());
  CHECK(member.machine.due(member.now).copy);
  CHECK_FALSE(member.machine.due(member.now + 9 * second).copy);
  CHECK(member.machine.due(member.now + 10 * second).copy);

  Member arbiter({true, true, false});
  arbiter.machine.fall_behind({}, true);
  CHECK_FALSE(arbiter.machine.copy_wanted());
  CHECK(arbiter.machine.due(arbiter.now).log_begins);
  CHECK(arbiter.machine.due(arbiter.now).log_begins);

  Member primary;
  primary.become_primary(2);
  auto due = primary.machine.primary_due(primary.now + second);
  CHECK(due.align);
  CHECK(due.advance_time);
  CHECK_FALSE(due.hand_over);  // it is too new
  due = primary.machine.primary_due(primary.now + second + 1);
  CHECK_FALSE(due.align);
  CHECK_FALSE(due.advance_time);
  CHECK(primary.machine.primary_due(primary.now + 2 * second).hand_over);
  CHECK_FALSE(primary.machine.shorten_due(primary.now + 4 * second));
  CHECK(primary.machine.shorten_due(primary.now + 5 * second));
  CHECK_FALSE(primary.machine.shorten_due(primary.now + 5 * second));
}
