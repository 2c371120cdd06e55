#include <catch2/catch.hpp>

#include "replication/consensus/test_support.h"

using namespace replication::consensus;

namespace {

struct ThreeMembers {
  MemoryLogDisk disks[3];
  std::unique_ptr<TestMember> members[3];
  explicit ThreeMembers(bool compress = false, bool arbiter = false, uint32_t election_ticks = TestMember::election_ticks) {
    const Membership set{
        .index = 1, .voters = {1, 2, arbiter ? 3 | arbiter_bit : 3}, .learners = {}, .voters_outgoing = {}, .learners_next = {}};
    for (int i = 0; i < 3; ++i) {
      start_log(disks[i], {1, 1}, set);
      members[i] = std::make_unique<TestMember>(set.voters[i], disks[i], compress, election_ticks);
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
  ThreeMembers set(GENERATE(false, true));
  TestMember* leader = wait_leader(set.all());
  REQUIRE(leader);
  std::vector<Bytes> sent;
  Position last;
  for (int i = 0; i < 200; ++i) {
    sent.push_back("entry " + std::to_string(i) + Bytes(static_cast<size_t>(i) * 50, 'x'));
    const auto at = leader->node->propose(sent.back(), "context");
    REQUIRE(at);
    last = *at;
  }
  for (TestMember* member : set.all()) {
    REQUIRE(member->wait_applied(last.index));
    std::lock_guard lock(member->mutex);
    CHECK(member->contents == sent);
  }
  REQUIRE(leader->node->read_index("who leads?"));
  CHECK(wait_until([&] {
    std::lock_guard lock(leader->mutex);
    return !leader->reads.empty() && leader->reads[0].context == "who leads?" && leader->reads[0].index >= last.index;
  }));
}

TEST_CASE("when a leader dies its successor acknowledges writes") {
  ThreeMembers set;
  TestMember* leader = wait_leader(set.all());
  REQUIRE(leader);
  REQUIRE(leader->node->propose("before"));
  set.kill(leader);
  TestMember* next = nullptr;
  const auto at = propose_somewhere(set, "after", &next);
  REQUIRE(at);
  REQUIRE(next->wait_applied(at->index));
}

TEST_CASE("leadership is handed over on request, and given up on request") {
  ThreeMembers set;
  TestMember* leader = wait_leader(set.all());
  REQUIRE(leader);
  TestMember* target = leader == set.all()[0] ? set.all()[1] : set.all()[0];
  REQUIRE(leader->node->transfer(target->id));
  CHECK(wait_until([&] { return target->leads(); }));
  CHECK_FALSE(leader->node->propose("too late"));
  target->node->set_candidacy({.when = Candidacy::When::never});
  target->node->resign();
  CHECK_FALSE(target->leads());
  TestMember* third = wait_leader(set.all());
  REQUIRE(third);
  CHECK(third != target);
}

TEST_CASE("a member that stands last leads when nobody else can, and is handed no lead") {
  ThreeMembers set;
  TestMember* leader = wait_leader(set.all());
  REQUIRE(leader);
  TestMember* target = leader == set.all()[0] ? set.all()[1] : set.all()[0];
  target->node->set_candidacy({.when = Candidacy::When::last});
  leader->node->transfer(target->id);
  for (TestMember* member : set.all()) {
    if (member != target) member->node->set_candidacy({.when = Candidacy::When::never});
  }
  CHECK(leader->leads());
  leader->node->resign();
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
  // The time of an election is longer than usual: a member that has no time for heartbeats isn't taken for gone.
  ThreeMembers set(false, false, 3 * TestMember::election_ticks);
  TestMember* leader = wait_leader(set.all());
  REQUIRE(leader);
  const Term term = leader->node->status().standing.term;
  for (MemoryLogDisk& disk : set.disks) disk.stall = true;
  const auto at = leader->node->propose("waits");
  REQUIRE(at);
  std::this_thread::sleep_for(std::chrono::seconds(6));
  CHECK(leader->node->status().commit < at->index);
  for (MemoryLogDisk& disk : set.disks) disk.stall = false;
  REQUIRE(leader->wait_applied(at->index));
  CHECK(leader->leads());
  CHECK(leader->node->status().standing.term == term);
}

TEST_CASE("a log that finds the disk full waits for room, and goes on") {
  ThreeMembers set;
  TestMember* leader = wait_leader(set.all());
  REQUIRE(leader);
  const size_t follows = set.members[0].get() == leader ? 1 : 0;
  TestMember& follower = *set.members[follows];
  set.disks[follows].full = true;
  const auto at = leader->node->propose("others have room");
  REQUIRE(at);
  CHECK(leader->wait_applied(at->index));
  CHECK(wait_until([&] { return follower.node->waits_for_room(); }));
  set.disks[follows].full = false;
  CHECK(follower.wait_applied(at->index));
  CHECK_FALSE(follower.node->waits_for_room());
}

TEST_CASE("a leader that hears nobody refuses, and names what it left unclear") {
  ThreeMembers set;
  TestMember* leader = wait_leader(set.all());
  REQUIRE(leader);
  for (TestMember* member : set.all()) {
    if (member != leader) member->transport.set_receiver(nullptr);
  }
  const auto at = leader->node->propose("nobody hears");
  REQUIRE(at);
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
  ThreeMembers set;
  TestMember* leader = wait_leader(set.all());
  REQUIRE(leader);
  for (MemoryLogDisk& disk : set.disks) disk.stall = true;
  const Bytes large(16 << 20, 'x');
  int taken = 0;
  while (taken < 20 && leader->node->propose(large)) ++taken;
  CHECK(taken >= 8);
  CHECK(taken < 20);
  for (MemoryLogDisk& disk : set.disks) disk.stall = false;
}

TEST_CASE("an arbiter votes, never leads and keeps no data") {
  ThreeMembers set(false, true);
  TestMember* leader = wait_leader(set.all());
  REQUIRE(leader);
  const auto at = leader->node->propose("data of two members");
  REQUIRE(at);
  TestMember* arbiter = set.all()[2];
  REQUIRE(arbiter->wait_applied(at->index));
  {
    std::lock_guard lock(arbiter->mutex);
    CHECK(arbiter->contents.empty());
  }
  set.kill(leader);
  TestMember* next = nullptr;
  REQUIRE(propose_somewhere(set, "one member's data alone", &next));
  CHECK_FALSE(is_arbiter(next->id));
  // The arbiter's word doesn't stand for a second copy: no majority until one is back.
  const Index before = next->node->status().commit;
  const auto alone = propose_somewhere(set, "still alone", &next);
  REQUIRE(alone);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  CHECK(next->node->status().commit < alone->index);
  CHECK(next->node->status().commit <= before);
}
