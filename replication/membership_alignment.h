// The leader aligns the membership of consensus with the configuration of the set, one change at a time: a member that joins gets
// the log first, and votes when it has caught up. `align` decides which change comes next; the driver proposes it.
//
//   configured   A B C, D joins          A B C D                        A B C D            C leaves     A B D
//   consensus    voters A B C   -joins-> voters A B C, learner D -votes-> voters A B C D -leaves->      voters A B D
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "replication/consensus/raft_core.h"
#include "replication/member_ids.h"

namespace replication {

// The view holds what the leader knows of the set at one moment.
struct AlignmentView {
  const SetConfig& config;
  consensus::MemberId self = 0;  // 0: not in the configuration
  const consensus::CoreStatus& status;
  const consensus::Membership& members;
  const std::vector<consensus::PeerProgress>& progress;
  consensus::Index log_begins = 0;                             // behind this index
  std::function<consensus::EntryPtr(consensus::Index)> entry;  // nullptr: the log doesn't have it
  consensus::Index within = caught_up_within;
};

struct Alignment {
  struct Step {
    consensus::MemberChange change;
    std::string_view what;  // "joins", "votes", "votes no more" or "leaves"
  };
  std::optional<Step> step;
  // Nobody may join before a checkpoint is made and the log shortened: its membership was brought by no entry (go_on_alone), so
  // that others who have the entries before it would go on with the one that they know. Once the log begins behind it, whoever
  // joins copies, and has it with the copy.
  bool shorten_first = false;
};

Alignment align(const AlignmentView& view);

}  // namespace replication
