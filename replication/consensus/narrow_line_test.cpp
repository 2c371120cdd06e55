// These tests run members on one clock, whose lines carry so many bytes a millisecond. They count what is sent, and how often.
#include <catch2/catch.hpp>

#include <numeric>

#include "replication/consensus/raft_core.h"
#include "replication/consensus/test_support.h"

using namespace replication::consensus;

namespace {

struct Lines {
  static constexpr int tick_ms = 50;
  struct Moving {
    Outgoing message;
    size_t left = 0;  // bytes that have not gone yet
    int64_t arrives = 0;
  };
  struct Member {
    MemberId id;
    MemoryLogDisk disk;
    std::unique_ptr<LogStore> store;
    std::unique_ptr<RaftCore> core;
    std::map<MemberId, std::deque<Moving>> bulk, moving;
    Index committed = 0;
  };
  std::vector<std::unique_ptr<Member>> members;
  double bytes_a_ms;
  int64_t delay_ms, now = 0;
  uint64_t bulk_bytes = 0, elections = 0;
  std::function<bool(const Outgoing&)> lose = [](const Outgoing&) { return false; };

  Lines(size_t count, double rate, int64_t delay) : bytes_a_ms(rate), delay_ms(delay) {
    Membership set{.index = 1, .voters = {}, .learners = {}, .voters_outgoing = {}, .learners_next = {}};
    for (MemberId id = 1; id <= count; ++id) set.voters.push_back(id);
    for (const MemberId id : set.voters) {
      members.push_back(std::make_unique<Member>());
      Member& member = *members.back();
      member.id = id;
      start_log(member.disk, {1, 1}, set);
      member.store = std::make_unique<LogStore>(member.disk);
      CoreOptions options;
      options.id = id;
      options.seed = id;
      options.applied = 1;
      member.core = std::make_unique<RaftCore>(options, *member.store);
    }
    leader().core->campaign();
    run(2000);
    REQUIRE(leader().core->status().may_read);
    bulk_bytes = elections = 0;
  }

  Member& leader() { return *members.front(); }

  void run(int64_t ms) {
    for (const int64_t end = now + ms; now < end; ++now) step();
  }
  // Returns false if it doesn't hold within the time.
  bool run_until(const std::function<bool()>& holds, int64_t ms) {
    for (const int64_t end = now + ms; now < end; ++now) {
      if (holds()) return true;
      step();
    }
    return holds();
  }
  bool all_have(Index index) {
    for (auto& member : members) {
      if (member->committed < index) return false;
    }
    return true;
  }

  void step() {
    for (auto& member : members) {
      if (now % tick_ms == 0) member->core->tick();
      take(*member);
    }
    for (auto& member : members) {
      carry(*member);
      for (auto& [to, queue] : member->moving) {
        while (!queue.empty() && queue.front().arrives <= now) {
          const Moving arrived = std::move(queue.front());
          queue.pop_front();
          Member& at = *members[to - 1];
          const bool under_way = !at.bulk[member->id].empty() || !at.moving[member->id].empty();
          REQUIRE(at.core->step(member->id, arrived.message.bytes, [&] { return under_way; }) == StepResult::ok);
          take(*members[to - 1]);
        }
      }
    }
  }

  // Entries share the line; what doesn't carry entries is small and goes ahead.
  void carry(Member& from) {
    auto busy = static_cast<size_t>(
        std::count_if(from.bulk.begin(), from.bulk.end(), [](const auto& each) { return !each.second.empty(); }));
    for (auto& [to, queue] : from.bulk) {
      if (queue.empty()) continue;
      auto room = static_cast<size_t>(bytes_a_ms / static_cast<double>(busy));
      while (!queue.empty() && room > 0) {
        const size_t part = std::min(room, queue.front().left);
        room -= part;
        if ((queue.front().left -= part) > 0) break;
        queue.front().arrives = now + delay_ms;
        from.moving[to].push_back(std::move(queue.front()));
        queue.pop_front();
      }
    }
  }

  void take(Member& member) {
    while (member.core->has_output()) {
      Output out = member.core->take_output();
      send(member, out.send);
      if (out.write) {
        if (out.write->needed) member.disk.write({out.write->batch});
        send(member, out.write->after);
        member.core->written(out.write->number);
      }
      if (out.standing && out.standing->role != Role::follower) ++elections;
      if (out.committed.empty()) continue;
      member.committed = out.committed.back()->index;
      member.core->applied(member.committed);
    }
  }

  void send(Member& from, std::vector<Outgoing>& messages) {
    for (Outgoing& message : messages) {
      if (lose(message)) continue;
      const size_t bytes = message.bytes.size();
      auto& to = (message.bulk ? from.bulk : from.moving)[message.to];
      if (message.bulk) bulk_bytes += bytes;
      to.push_back({std::move(message), bytes, now + delay_ms});
    }
  }

  // `count` entries of so many bytes, all at once. The last one's index.
  Index propose(size_t count, size_t bytes) {
    Index last = 0;
    for (size_t i = 0; i < count; ++i) {
      const auto at = leader().core->propose(Bytes(bytes, 'x'));
      REQUIRE(at);
      last = at->index;
      take(leader());
    }
    return last;
  }

  uint64_t resent() {
    uint64_t entries = 0;
    for (const PeerProgress& peer : leader().core->progress()) entries += peer.resent_entries;
    return entries;
  }
};

constexpr double mbit = 125;  // bytes a millisecond

}  // namespace

TEST_CASE("what is on its way over a narrow line is not sent again") {
  const double rate = GENERATE(1.0, 5.0, 20.0, 1000.0);
  const size_t bytes = GENERATE(300, 20'000);
  Lines lines(3, rate * mbit, 5);
  const size_t count = 6'000'000 / bytes;
  const Index last = lines.propose(count, bytes);
  const auto expected_ms = static_cast<int64_t>(2 * 6'000'000 / (rate * mbit));
  REQUIRE(lines.run_until([&] { return lines.all_have(last); }, 2 * expected_ms + 1000));
  CAPTURE(rate, bytes, lines.bulk_bytes, lines.now);
  CHECK(lines.resent() == 0);
  CHECK(lines.elections == 0);
  // Two followers; a small entry has some bytes around it.
  CHECK(lines.bulk_bytes < 2 * count * (bytes + 40) * 11 / 10);
}

TEST_CASE("what is under way follows what the line carries") {
  SECTION("a narrow one: about half a second") {
    Lines lines(2, 1 * mbit, 5);
    lines.propose(20'000, 300);
    lines.run(20'000);
    CHECK(lines.leader().core->progress()[1].flight_bytes < 200 << 10);
  }
  SECTION("a wide and long one: enough to fill it") {
    Lines lines(2, 200 * mbit, 100);
    const Index last = lines.propose(6'000, 20'000);  // 4.8 s of the line
    CHECK(lines.run_until([&] { return lines.all_have(last); }, 8'000));
    CHECK(lines.resent() == 0);
  }
}

TEST_CASE("an entry that takes minutes is sent once more where its connection was lost, and no more") {
  Lines lines(3, 1 * mbit, 5);
  lines.propose(1, 4'000'000);
  lines.run(1000);
  lines.leader().bulk.clear();
  for (const MemberId follower : {2, 3}) lines.leader().core->report_unreachable(follower);
  lines.bulk_bytes = 0;
  REQUIRE(lines.run_until([&] { return lines.all_have(lines.leader().store->last()); }, 100'000));
  CHECK(lines.elections == 0);
  CHECK(lines.bulk_bytes < 2 * 4'000'000 * 11 / 10);
}

TEST_CASE("what was lost unseen is sent again after a while") {
  Lines lines(2, 20 * mbit, 5);
  int count = 0;
  lines.lose = [&](const Outgoing& message) { return message.bulk && message.bytes.size() > 300 && ++count % 10 == 3; };
  Index last = 0;
  for (int i = 0; i < 20; ++i) last = lines.propose(200, 300);
  CHECK(lines.run_until([&] { return lines.all_have(last); }, 60'000));
  CHECK(count > 3);
}
