#include "replication/membership_alignment.h"

#include <algorithm>

namespace replication {

using consensus::MemberChange;
using consensus::MemberId;
using consensus::PeerProgress;

namespace {

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
    const bool voter = is_voter(view.members, id), learner = is_learner(view.members, id);
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

Alignment align(const AlignmentView& view) {
  const bool changing = view.status.members_changing || !view.members.voters_outgoing.empty();
  if (changing || !view.status.may_read) return {};
  switch (others_may_join(view)) {
    case Joining::allowed: return {next_step(view), false};
    case Joining::after_shortening: return {std::nullopt, true};
    case Joining::not_yet: break;
  }
  return {};
}

}  // namespace replication
