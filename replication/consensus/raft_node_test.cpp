#include <catch2/catch.hpp>

#include <atomic>

#include "base/clock.h"
#include "replication/consensus/test_support.h"

using namespace replication::consensus;

namespace {

struct ThreeMembers {
  MemoryLogDisk disks[3];
  std::unique_ptr<TestMember> members[3];
  explicit ThreeMembers(bool compress = false, bool arbiter = false, base::Clock& clock = base::system_clock()) {
    const Membership set{
        .index = 1, .voters = {1, 2, arbiter ? 3 | arbiter_bit : 3}, .learners = {}, .voters_outgoing = {}, .learners_next = {}};
    for (int i = 0; i < 3; ++i) {
      start_log(disks[i], {1, 1}, set);
      members[i] = std::make_unique<TestMember>(set.voters[i], disks[i], compress, clock);
    }
    introduce(all());
    for (TestMember* member : all()) member->node->start();
  }
  std::vector<TestMember*> all() {
    std::vector<TestMember*> out;
    for (auto& member : members) {
      if (member) out.push_back(member.get());
    }
    return out;
  }
  void kill(TestMember* member) {
    for (auto& each : members) {
      if (each.get() == member) each.reset();
    }
  }
};

// A clock that goes as the machine's does until it is held. Then it stands still, but for what the test adds. Thread-safe.
class HeldClock final : public base::Clock {
 public:
  int64_t wall_ms() const override { return monotonic_us() / 1000; }
  int64_t monotonic_us() const override {
    const int64_t held = held_us_;
    return held != 0 ? held : base::system_clock().monotonic_us() - lost_us_;
  }
  void hold() { held_us_ = monotonic_us(); }
  void go_on() {
    lost_us_ = base::system_clock().monotonic_us() - held_us_;
    held_us_ = 0;
  }
  void advance(std::chrono::microseconds by) { held_us_ += by.count(); }

 private:
  std::atomic<int64_t> held_us_{0}, lost_us_{0};
};

// A transport's receiver that counts what it passes on to its member.
class CountingReceiver final : public MessageReceiver {
 public:
  explicit CountingReceiver(TestMember& member) : member_(member) { member.transport.set_receiver(this); }
  ~CountingReceiver() override { member_.transport.set_receiver(member_.node.get()); }
  void received(MemberId from, BytesView message) override {
    member_.node->received(from, message);
    if (of == 0 || from == of) ++count;
  }
  void unreachable(MemberId to) override { member_.node->unreachable(to); }

  std::atomic<MemberId> of{0};  // it counts the messages of this member; 0: of all
  std::atomic<int> count{0};

 private:
  TestMember& member_;
};

// Three members of which one leads for as long as the test wants. Their time goes on only when they have heard each other: a
// member that the machine has no time for isn't taken for gone.
struct LedMembers {
  HeldClock clock;
  ThreeMembers set;
  std::vector<std::unique_ptr<CountingReceiver>> receivers;
  TestMember* leader = nullptr;

  explicit LedMembers(bool compress = false, bool arbiter = false) : set(compress, arbiter, clock) {
    for (TestMember* member : set.all()) receivers.push_back(std::make_unique<CountingReceiver>(*member));
    // It leads on after the clock was held, although somebody may have stood for election just before.
    REQUIRE(wait_until([&] {
      leader = wait_leader(set.all());
      if (!leader) return true;
      for (size_t i = 0; i < receivers.size(); ++i) receivers[i]->of = set.all()[i] == leader ? 0 : leader->id;
      REQUIRE(all_hear_since(heard()));  // the lines to all are there: a heartbeat that is lost doesn't come again by itself
      clock.hold();
      for (int i = 0; i < 3 && leader->leads(); ++i) REQUIRE(all_hear());
      if (leader->leads()) return true;
      clock.go_on();
      return false;
    }));
    REQUIRE(leader);
  }

  std::vector<int> heard() const {
    std::vector<int> counts;
    for (const auto& receiver : receivers) counts.push_back(receiver->count);
    return counts;
  }
  // Waits until the others have heard the leader since, and it has heard one of them, or until it leads no more. False: not by
  // the deadline.
  bool all_hear_since(const std::vector<int>& before) {
    return wait_until([&] {
      if (!leader->leads()) return true;
      size_t hearing = 0;
      for (size_t i = 0; i < receivers.size(); ++i) hearing += receivers[i]->count > before[i];
      return hearing == receivers.size();
    });
  }
  // Lets the time of a heartbeat pass.
  bool all_hear() {
    const std::vector<int> before = heard();
    clock.advance(CoreOptions{}.heartbeat_ticks * std::chrono::milliseconds(NodeOptions{}.tick_ms));
    return all_hear_since(before);
  }

  // Waits until the condition holds, and lets time pass while the leader leads: what was lost is sent again with the heartbeats.
  template <typename Condition>
  bool wait(Condition holds) {
    return wait_until([&] {
      if (holds()) return true;
      if (leader->leads()) all_hear();
      return false;
    });
  }
  bool wait_applied(TestMember& member, Index index) {
    return wait([&] {
      std::lock_guard lock(member.mutex);
      return member.applied >= index;
    });
  }

  // From here on the time goes as the machine's does, and others may come to lead.
  void let_go() {
    receivers.clear();
    clock.go_on();
  }
};

// The place of an entry that a leader took, within the time.
std::optional<Position> propose_somewhere(ThreeMembers& set, const Bytes& data, TestMember** leader) {
  std::optional<Position> at;
  wait_until([&] {
    for (TestMember* member : set.all()) {
      if ((at = member->node->propose(data))) return *leader = member, true;
    }
    return false;
  });
  return at;
}

}  // namespace

TEST_CASE("three members over TCP agree on what one proposes") {
  LedMembers led(GENERATE(false, true));
  TestMember* leader = led.leader;
  std::vector<Bytes> sent;
  Position last;
  for (int i = 0; i < 200; ++i) {
    sent.push_back("entry " + std::to_string(i) + Bytes(static_cast<size_t>(i) * 50, 'x'));
    const auto at = leader->node->propose(sent.back(), "context");
    REQUIRE(at);
    last = *at;
  }
  for (TestMember* member : led.set.all()) {
    REQUIRE(led.wait_applied(*member, last.index));
    std::lock_guard lock(member->mutex);
    CHECK(member->contents == sent);
  }
  REQUIRE(leader->node->read_index("who leads?"));
  CHECK(led.wait([&] {
    std::lock_guard lock(leader->mutex);
    return !leader->reads.empty() && leader->reads[0].context == "who leads?" && leader->reads[0].index >= last.index;
  }));
}

TEST_CASE("when a leader dies its successor acknowledges writes") {
  ThreeMembers set;
  TestMember* leader = nullptr;
  REQUIRE(propose_somewhere(set, "before", &leader));
  set.kill(leader);
  TestMember* next = nullptr;
  const auto at = propose_somewhere(set, "after", &next);
  REQUIRE(at);
  REQUIRE(next->wait_applied(at->index));
}

TEST_CASE("leadership is handed over on request, and given up on request") {
  LedMembers led;
  ThreeMembers& set = led.set;
  TestMember* leader = led.leader;
  TestMember* target = leader == set.all()[0] ? set.all()[1] : set.all()[0];
  REQUIRE(leader->node->transfer(target->id));
  CHECK(led.wait([&] { return target->leads(); }));
  CHECK_FALSE(leader->node->propose("too late"));
  target->node->set_candidacy({.when = Candidacy::When::never});
  target->node->resign();
  CHECK_FALSE(target->leads());
  led.let_go();
  TestMember* third = wait_leader(set.all());
  REQUIRE(third);
  CHECK(third != target);
}

TEST_CASE("a member that stands last leads when nobody else can, and is handed no lead") {
  LedMembers led;
  ThreeMembers& set = led.set;
  TestMember* leader = led.leader;
  TestMember* target = leader == set.all()[0] ? set.all()[1] : set.all()[0];
  target->node->set_candidacy({.when = Candidacy::When::last});
  leader->node->transfer(target->id);
  for (TestMember* member : set.all()) {
    if (member != target) member->node->set_candidacy({.when = Candidacy::When::never});
  }
  CHECK(leader->leads());
  leader->node->resign();
  led.let_go();
  CHECK(wait_until([&] { return target->leads(); }));
}

TEST_CASE("a member reports whether it would lead, and its answer expires when it stops answering") {
  ThreeMembers set;
  TestMember* leader = wait_leader(set.all());
  REQUIRE(leader);
  TestMember* other = leader == set.all()[0] ? set.all()[1] : set.all()[0];
  const MemberId id = other->id;
  CHECK_FALSE(leader->node->stands(id));  // it hasn't been asked
  CHECK(wait_until([&] { return leader->node->stands(id); }));
  other->node->set_candidacy({.when = Candidacy::When::never});
  CHECK(wait_until([&] { return !leader->node->stands(id); }));
  other->node->set_candidacy({});
  CHECK(wait_until([&] { return leader->node->stands(id); }));
  set.kill(other);
  CHECK(wait_until([&] { return !leader->node->stands(id); }));
}

TEST_CASE("a stalled disk unseats nobody") {
  LedMembers led;
  TestMember* leader = led.leader;
  const Term term = leader->node->status().standing.term;
  for (MemoryLogDisk& disk : led.set.disks) disk.stall = true;
  const auto at = leader->node->propose("waits");
  REQUIRE(at);
  constexpr uint32_t elections = 4;  // could have been held in this time
  for (uint32_t ticks = 0; ticks < elections * CoreOptions{}.election_ticks && leader->leads();
       ticks += CoreOptions{}.heartbeat_ticks)
    REQUIRE(led.all_hear());
  CHECK(leader->node->status().commit < at->index);
  for (MemoryLogDisk& disk : led.set.disks) disk.stall = false;
  REQUIRE(led.wait_applied(*leader, at->index));
  CHECK(leader->leads());
  CHECK(leader->node->status().standing.term == term);
}

TEST_CASE("a log that finds the disk full waits for room, and goes on") {
  LedMembers led;
  ThreeMembers& set = led.set;
  TestMember* leader = led.leader;
  const size_t follows = set.members[0].get() == leader ? 1 : 0;
  TestMember& follower = *set.members[follows];
  set.disks[follows].full = true;
  const auto at = leader->node->propose("others have room");
  REQUIRE(at);
  CHECK(led.wait_applied(*leader, at->index));
  CHECK(led.wait([&] { return follower.node->waits_for_room(); }));
  set.disks[follows].full = false;
  CHECK(led.wait_applied(follower, at->index));
  CHECK_FALSE(follower.node->waits_for_room());
}

TEST_CASE("a leader that hears nobody refuses, and names what it left unclear") {
  LedMembers led;
  TestMember* leader = led.leader;
  for (TestMember* member : led.set.all()) {
    if (member != leader) member->transport.set_receiver(nullptr);
  }
  const auto at = leader->node->propose("nobody hears");
  REQUIRE(at);
  led.clock.go_on();
  REQUIRE(wait_until([&] { return !leader->leads(); }));
  REQUIRE(wait_until([&] {
    std::lock_guard lock(leader->mutex);
    return !leader->unclear.empty();
  }));
  CHECK(leader->unclear[0].from <= at->index);
  CHECK(leader->unclear[0].to >= at->index);
  CHECK_FALSE(leader->node->propose("refused"));
}

TEST_CASE("proposals beyond the uncommitted bytes are refused") {
  LedMembers led;
  for (MemoryLogDisk& disk : led.set.disks) disk.stall = true;
  const Bytes large(16 << 20, 'x');
  int taken = 0;
  while (taken < 20 && led.leader->node->propose(large)) ++taken;
  CHECK(taken >= 8);
  CHECK(taken < 20);
  for (MemoryLogDisk& disk : led.set.disks) disk.stall = false;
}

TEST_CASE("an arbiter votes, never leads and keeps no data") {
  LedMembers led(false, true);
  ThreeMembers& set = led.set;
  TestMember* leader = led.leader;
  const auto at = leader->node->propose("data of two members");
  REQUIRE(at);
  TestMember* arbiter = set.all()[2];
  REQUIRE(led.wait_applied(*arbiter, at->index));
  {
    std::lock_guard lock(arbiter->mutex);
    CHECK(arbiter->contents.empty());
  }
  led.let_go();
  set.kill(leader);
  TestMember* next = nullptr;
  REQUIRE(propose_somewhere(set, "one member's data alone", &next));
  CHECK_FALSE(is_arbiter(next->id));
  // The arbiter's word doesn't stand for a second copy: no majority until one is back.
  const Index before = next->node->status().commit;
  const auto alone = propose_somewhere(set, "still alone", &next);
  REQUIRE(alone);
  // If the entry was sent to the arbiter, it arrives before the heartbeats that the arbiter answers last.
  CountingReceiver answers(*next);
  answers.of = arbiter->id;
  const auto answers_more = [&] {
    return wait_until([&, before = answers.count.load()] { return answers.count >= before + 3; });
  };
  REQUIRE(answers_more());
  REQUIRE(wait_until([&] { return !next->transport.under_way(arbiter->id); }));
  REQUIRE(answers_more());
  CHECK(next->node->status().commit < alone->index);
  CHECK(next->node->status().commit <= before);
}
