#include "replication/member_duties.h"

#include <catch2/catch.hpp>

#include <string>
#include <utility>

using namespace replication;
using consensus::Role;

namespace {

constexpr int64_t second = 1'000'000;

// Writes down what it is to do. `last`: the member starts anew in this duty.
struct Driver final : MemberDuties {
  explicit Driver(const MemberPart& part = {true, false, true}) {
    machine.configure(part, true, now);
    machine.begin(now);
  }
  void become_primary() {
    machine.stand({Role::leader, 1, 1}, now);
    REQUIRE(machine.write_in(1));
    REQUIRE(machine.lead(1, now));
  }
  std::string round(const std::string& until = "") {
    last = until;
    did.clear();
    do_round();
    return std::exchange(did, {});
  }

  int64_t now = 100 * second;
  MemberMachine machine{now};
  bool node = true, anew = false;
  std::string did, last;

 private:
  void note(const std::string& duty) {
    did += (did.empty() ? "" : ", ") + duty;
    if (duty == last) anew = true;
  }
  void ask(const Question& question) override { question(machine, now); }
  bool starts_anew() override { return anew; }
  bool takes_part() override { return node && !anew; }
  void roll_back() override { note("roll back"); }
  void end_leadership() override { note("end leadership"); }
  void look_around() override { note("look"); }
  void take_over() override { note("take over"); }
  void pass_on_lead() override { note("pass on"); }
  void tend_readers() override { note("readers"); }
  void shorten_log() override { note("shorten"); }
  void tell_electability() override { note("electable"); }
  void count_members() override { note("count"); }
  void align_members() override { note("align"); }
  void forget_places() override { note("forget"); }
  void advance_time() override { note("advance"); }
  void hand_over_to_better() override { note("hand over"); }
  void step_down_damaged() override { note("step down"); }
  void expire_waits() override { note("expire"); }
  void begin_log_anew(const consensus::Behind&) override { note("begin log"); }
  void copy_anew() override { note("copy"); }
};

}  // namespace

TEST_CASE("a round does what is due, and nothing else") {
  Driver member;
  CHECK(member.round() == "look, take over, readers, expire");
  CHECK(member.round() == "look, take over, readers, expire");
  member.become_primary();
  CHECK(member.round() == "look, take over, count, align, forget, advance, readers, expire");
  CHECK(member.round() == "look, take over, count, forget, readers, expire");
  member.machine.data_damaged();
  member.machine.freeze(second, member.now);
  member.now += 60 * second;
  CHECK(member.round() == "look, take over, count, align, forget, advance, hand over, step down, readers, shorten, expire");
  member.machine.stand({Role::follower, 2, 3}, member.now);
  CHECK(member.round() == "end leadership, look, take over, readers, expire");
}

TEST_CASE("a caretaker passes the lead on") {
  Driver member({true, false, false});
  member.machine.stand({Role::leader, 1, 1}, member.now);
  CHECK(member.round() == "look, take over, pass on, readers, expire");
}

TEST_CASE("consensus learns when a member is electable again") {
  Driver member;
  member.machine.freeze(second, member.now);
  CHECK(member.round() == "look, take over, readers, electable, expire");
  CHECK(member.round() == "look, take over, readers, expire");
  member.now += second;
  CHECK(member.round() == "look, take over, readers, electable, expire");
}

TEST_CASE("a member that takes no part copies all the same") {
  Driver member;
  member.node = false;
  CHECK(member.round() == "expire");
  member.machine.want_copy();
  CHECK(member.round() == "expire, copy");
}

TEST_CASE("a member that starts anew does nothing more, but it ends its leadership") {
  Driver member;
  member.become_primary();
  member.machine.want_copy();
  member.machine.replaced();
  member.machine.stand({Role::follower, 2, 3}, member.now);
  CHECK(member.round("roll back") == "roll back, end leadership, expire");
  CHECK(member.round() == "expire");

  for (const auto& [last, did] : {std::pair<std::string, std::string>{"look", "look, expire"},
                                  {"take over", "look, take over, expire"},
                                  {"count", "look, take over, count, expire"},
                                  {"align", "look, take over, count, align, expire"},
                                  {"readers", "look, take over, count, align, forget, advance, readers, expire"}}) {
    Driver primary;
    primary.become_primary();
    primary.machine.want_copy();
    CHECK(primary.round(last) == did);
  }
}
