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
