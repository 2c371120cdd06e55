#include "replication/membership_alignment.h"

#include <algorithm>

#include "replication/member_ids.h"

namespace replication {

using consensus::MemberChange;
using consensus::MemberId;
using consensus::PeerProgress;

namespace {

bool contains(const std::vector<MemberId>& ids, MemberId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

enum class Joining { allowed, after_shortening, not_yet };

Joining others_may_join(const AlignmentView& view) {
  const consensus::Index brought_at = view.members.index;
  if (brought_at <= view.log_begins) return Joining::allowed;
  const consensus::EntryPtr entry = view.entry(brought_at);
  if (!entry) return Joining::not_yet;
  return entry->kind == consensus::EntryKind::data ? Joining::after_shortening : Joining::allowed;
}

bool has_caught_up(const AlignmentView& view, MemberId id) {
  const PeerProgress* reached = progress_of(view.progress, id);
  return reached && reached->recently_active && !reached->behind && reached->matched > 0 &&
         reached->matched + view.within >= view.status.last;
}

std::optional<Alignment::Step> next_step(const AlignmentView& view) {
  using Kind = MemberChange::Kind;
  using Step = Alignment::Step;
  for (const MemberConfig& member : view.config.members) {
    const MemberId id = consensus_id(member);
    const bool voter = contains(view.members.voters, id), learner = contains(view.members.learners, id);
    if (!voter && !learner) return Step{{Kind::add_learner, id}, "joins"};
    if (voter && member.votes == 0) return Step{{Kind::add_learner, id}, "votes no more"};
    if (learner && member.votes != 0 && has_caught_up(view, id)) return Step{{Kind::add_voter, id}, "votes"};
  }
  for (const auto* ids : {&view.members.learners, &view.members.voters}) {
    for (const MemberId id : *ids) {
      if (!member_of(view.config, id) && id != view.self) return Step{{Kind::remove, id}, "leaves"};
    }
  }
  return std::nullopt;
}

}  // namespace

const PeerProgress* progress_of(const std::vector<PeerProgress>& all, MemberId id) {
  const auto at = std::find_if(all.begin(), all.end(), [id](const PeerProgress& one) { return one.id == id; });
  return at == all.end() ? nullptr : &*at;
}

bool is_voter(const consensus::Membership& members, MemberId id) {
  return contains(members.voters, id);
}

Alignment align(const AlignmentView& view) {
  const bool settled = view.status.may_read && !view.status.members_changing && view.members.voters_outgoing.empty();
  if (!settled) return {};
  switch (others_may_join(view)) {
    case Joining::allowed: return {next_step(view), false};
    case Joining::after_shortening: return {std::nullopt, true};
    case Joining::not_yet: break;
  }
  return {};
}

}  // namespace replication
