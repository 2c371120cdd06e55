// Which member of the configuration is which in consensus, and back.
#pragma once

#include "replication/consensus/types.h"
#include "replication/set_config.h"

namespace replication {

// A member is the same one for as long as its _id stays, whatever its host; consensus knows no member 0.
consensus::MemberId consensus_id(const MemberConfig& member);
// nullptr: no such member.
const MemberConfig* member_of(const SetConfig& config, consensus::MemberId id);
// Is this member the only one that votes?
bool is_alone(const consensus::Membership& members, consensus::MemberId id);
// How many are preferred to this member in elections, as far as consensus tells them apart: 0 to 3.
uint32_t election_rank(const SetConfig& config, const MemberConfig& member);

}  // namespace replication
