// These functions name a member of the configuration as consensus does, and the other way round.
#pragma once

#include <vector>

#include "replication/consensus/raft_core.h"
#include "replication/set_config.h"

namespace replication {

// A member is the same one for as long as its _id stays, whatever its host; consensus knows no member 0.
consensus::MemberId consensus_id(const MemberConfig& member);
// nullptr: no such member.
const MemberConfig* member_of(const SetConfig& config, consensus::MemberId id);
bool is_voter(const consensus::Membership& members, consensus::MemberId id);
bool is_learner(const consensus::Membership& members, consensus::MemberId id);
// Returns how far consensus knows the member to be; nullptr: it is not among `all`.
const consensus::PeerProgress* progress_of(const std::vector<consensus::PeerProgress>& all, consensus::MemberId id);
// A member that is to vote or to lead may lack at most this many entries of the log.
inline constexpr consensus::Index caught_up_within = 1000;
// Returns whether the voters in reach could elect somebody without this member's vote.
bool elect_without(const consensus::Membership& members, const std::vector<consensus::PeerProgress>& progress,
                   consensus::MemberId id);
// Is this member the only one that votes?
bool is_alone(const consensus::Membership& members, consensus::MemberId id);
// Returns how many are preferred to this member in elections, as far as consensus tells them apart: 0 to 3.
uint32_t election_rank(const SetConfig& config, const MemberConfig& member);

}  // namespace replication
