#include "replication/member_ids.h"

#include <algorithm>

namespace replication {

consensus::MemberId consensus_id(const MemberConfig& member) {
  const auto id = static_cast<consensus::MemberId>(member.id) + 1;
  return member.arbiter ? id | consensus::arbiter_bit : id;
}

const MemberConfig* member_of(const SetConfig& config, consensus::MemberId id) {
  for (const MemberConfig& member : config.members) {
    if (consensus_id(member) == id) return &member;
  }
  return nullptr;
}

bool is_voter(const consensus::Membership& members, consensus::MemberId id) {
  return std::find(members.voters.begin(), members.voters.end(), id) != members.voters.end();
}

bool is_learner(const consensus::Membership& members, consensus::MemberId id) {
  return std::find(members.learners.begin(), members.learners.end(), id) != members.learners.end();
}

const consensus::PeerProgress* progress_of(const std::vector<consensus::PeerProgress>& all, consensus::MemberId id) {
  const auto at = std::find_if(all.begin(), all.end(), [id](const consensus::PeerProgress& one) { return one.id == id; });
  return at == all.end() ? nullptr : &*at;
}

bool elect_without(const consensus::Membership& members, const std::vector<consensus::PeerProgress>& progress,
                   consensus::MemberId id) {
  const auto majority = [&](const std::vector<consensus::MemberId>& voters) {
    const auto vote = std::count_if(voters.begin(), voters.end(), [&](consensus::MemberId voter) {
      const consensus::PeerProgress* const reached = voter == id ? nullptr : progress_of(progress, voter);
      return reached && reached->recently_active;
    });
    return voters.empty() || static_cast<size_t>(vote) > voters.size() / 2;
  };
  return majority(members.voters) && majority(members.voters_outgoing);
}

bool is_alone(const consensus::Membership& members, consensus::MemberId id) {
  return members.voters == std::vector{id} && members.voters_outgoing.empty();
}

uint32_t election_rank(const SetConfig& config, const MemberConfig& member) {
  constexpr uint32_t worst = 3;
  uint32_t better = 0;
  for (const MemberConfig& other : config.members) better += other.electable() && other.priority > member.priority;
  return std::min(better, worst);
}

}  // namespace replication
