// This file decides what an arbiter is sent, and when.
//
// An arbiter acknowledges entries it has no data of. Two rules keep that safe:
//
//   - it gets an entry only after as many members with data have it as would be
//     a majority of all voters (or all of them, where there are fewer)
//   - it gets the entry's place and term alone, and never leads
//
// So its word never adds to a majority what the data of a majority doesn't
// stand for, and its log is never ahead of every surviving member's: with the
// leader gone, a member that has what the arbiter has can be elected.
#include <algorithm>
#include <functional>

#include "replication/consensus/ffi_bridge.h"
#include "replication/consensus/raft_core.h"

namespace replication::consensus {
namespace {

constexpr size_t held_max = 512;  // more than the in-flight window only come from retries; those may be lost

// The index that enough of the voters' data is durable up to.
Index data_majority(const std::vector<MemberId>& voters, const std::vector<PeerProgress>& progress) {
  std::vector<Index> matched;
  for (MemberId voter : voters) {
    if (is_arbiter(voter)) continue;
    const auto found = std::find_if(progress.begin(), progress.end(), [&](const PeerProgress& peer) { return peer.id == voter; });
    matched.push_back(found == progress.end() ? 0 : found->matched);
  }
  if (matched.empty()) return 0;
  const size_t needed = std::min(voters.size() / 2 + 1, matched.size());
  std::nth_element(matched.begin(), matched.begin() + (needed - 1), matched.end(), std::greater<>());
  return matched[needed - 1];
}

}  // namespace

Index RaftCore::arbiter_limit() const {
  const Membership& members = store_.meta().members;
  const std::vector<PeerProgress> known = progress();
  Index limit = data_majority(members.voters, known);
  if (!members.voters_outgoing.empty()) limit = std::min(limit, data_majority(members.voters_outgoing, known));
  return limit;
}

void RaftCore::hold_for_arbiters(std::vector<Outgoing>& messages, const std::vector<Index>& last_indexes) {
  std::vector<Outgoing> through;
  for (size_t i = 0; i < messages.size(); ++i) {
    Outgoing& message = messages[i];
    std::deque<Held>* held = is_arbiter(message.to) && message.bulk ? &held_[message.to] : nullptr;
    if (!held || (held->empty() && last_indexes[i] == 0)) {
      through.push_back(std::move(message));
      continue;
    }
    if (held->size() >= held_max) continue;
    const Index last = std::max(last_indexes[i], held->empty() ? 0 : held->back().last);
    Held stripped{last, {}};
    raft_strip_append(raw(message.bytes), UINT64_MAX, &stripped,
                      [](void* self, RaftBytes bytes) { static_cast<Held*>(self)->bytes = Bytes(view(bytes)); });
    held->push_back(std::move(stripped));
  }
  messages = std::move(through);
}

void RaftCore::release_to_arbiters(std::vector<Outgoing>& out) {
  if (std::all_of(held_.begin(), held_.end(), [](const auto& each) { return each.second.empty(); })) return;
  const Index limit = arbiter_limit();
  for (auto& [arbiter, held] : held_) {
    while (!held.empty() && held.front().last <= limit) {
      out.push_back({arbiter, true, std::move(held.front().bytes)});
      held.pop_front();
    }
  }
}

}  // namespace replication::consensus
