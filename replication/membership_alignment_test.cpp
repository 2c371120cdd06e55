#include "replication/membership_alignment.h"

#include <catch2/catch.hpp>

#include "replication/member_ids.h"

using namespace replication;
using consensus::Index;
using consensus::MemberChange;
using consensus::MemberId;

namespace {

struct Leader {
  SetConfig config;
  consensus::CoreStatus status;
  consensus::Membership members;
  std::vector<consensus::PeerProgress> progress;
  Index log_begins = 1;
  consensus::EntryPtr brought_by;

  // Members 1 to `count` are configured and vote; this is the first.
  explicit Leader(int count) {
    status.may_read = true;
    status.last = 5000;
    members.index = 1;
    for (int i = 1; i <= count; ++i) {
      MemberConfig member;
      member.id = i - 1;
      config.members.push_back(member);
      members.voters.push_back(consensus_id(member));
    }
  }
  MemberConfig& configure(int32_t id, int32_t votes) {
    config.members.emplace_back();
    config.members.back().id = id;
    config.members.back().votes = votes;
    return config.members.back();
  }
  void reached(MemberId id, Index matched) {
    progress.clear();
    progress.push_back({});
    progress.back().id = id;
    progress.back().matched = matched;
    progress.back().recently_active = true;
  }
  Alignment look() const {
    return align({.config = config,
                  .self = 1,
                  .status = status,
                  .members = members,
                  .progress = progress,
                  .log_begins = log_begins,
                  .entry = [this](Index) { return brought_by; }});
  }
  bool next_is(MemberChange::Kind kind, MemberId member) const {
    const auto step = look().step;
    return step && step->change.kind == kind && step->change.member == member;
  }
};

}  // namespace

using Kind = MemberChange::Kind;

TEST_CASE("a member that joins gets the log first, and votes when it has caught up") {
  Leader leader(3);
  CHECK_FALSE(leader.look().step);
  leader.configure(3, 1);
  CHECK(leader.next_is(Kind::add_learner, 4));
  leader.members.learners = {4};
  CHECK_FALSE(leader.look().step);  // it hasn't been heard of
  leader.reached(4, 0);
  CHECK_FALSE(leader.look().step);
  leader.reached(4, 3999);
  CHECK_FALSE(leader.look().step);
  leader.reached(4, 4000);
  CHECK(leader.next_is(Kind::add_voter, 4));
  leader.progress.back().recently_active = false;
  CHECK_FALSE(leader.look().step);
  leader.progress.back() = {.id = 4, .matched = 5000, .recently_active = true, .behind = true};
  CHECK_FALSE(leader.look().step);
}

TEST_CASE("a learner that has nothing yet doesn't vote in a short log, either") {
  Leader leader(1);
  leader.status.last = 20;
  leader.configure(1, 1);
  leader.members.learners = {2};
  leader.reached(2, 0);
  CHECK_FALSE(leader.look().step);
  leader.reached(2, 1);
  CHECK(leader.next_is(Kind::add_voter, 2));
}

TEST_CASE("a member without a vote stays a learner, and a voter that loses its vote becomes one") {
  Leader leader(3);
  leader.config.members[1].votes = 0;
  CHECK(leader.next_is(Kind::add_learner, 2));
  leader.members.voters = {1, 3};
  leader.members.learners = {2};
  leader.reached(2, 5000);
  CHECK_FALSE(leader.look().step);
}

TEST_CASE("a member that isn't configured leaves, but for the leader itself") {
  Leader leader(3);
  leader.config.members.pop_back();
  CHECK(leader.next_is(Kind::remove, 3));
  leader.members.voters = {1, 2};
  leader.members.learners = {5};
  CHECK(leader.next_is(Kind::remove, 5));
  leader.members.learners.clear();
  leader.config.members.erase(leader.config.members.begin());
  CHECK_FALSE(leader.look().step);
}

TEST_CASE("no change begins before the one before it is over, or before the leader has committed in its term") {
  Leader leader(3);
  leader.configure(3, 1);
  leader.status.members_changing = true;
  CHECK_FALSE(leader.look().step);
  leader.status.members_changing = false;
  leader.members.voters_outgoing = {1, 2};
  CHECK_FALSE(leader.look().step);
  leader.members.voters_outgoing.clear();
  leader.status.may_read = false;
  CHECK_FALSE(leader.look().step);
}

TEST_CASE("nobody joins a membership that no entry brought until the log begins behind it") {
  Leader leader(1);
  leader.configure(1, 1);
  leader.members.index = 40;
  CHECK_FALSE(leader.look().step);  // the log has no such entry yet
  CHECK_FALSE(leader.look().shorten_first);
  consensus::LogEntry entry;
  leader.brought_by = std::make_shared<const consensus::LogEntry>(entry);
  CHECK_FALSE(leader.look().step);
  CHECK(leader.look().shorten_first);
  leader.log_begins = 40;
  CHECK(leader.next_is(Kind::add_learner, 2));
  CHECK_FALSE(leader.look().shorten_first);
  // One that an entry brought needs no such care.
  leader.log_begins = 1;
  entry.kind = consensus::EntryKind::one_member;
  leader.brought_by = std::make_shared<const consensus::LogEntry>(entry);
  CHECK(leader.next_is(Kind::add_learner, 2));
}
