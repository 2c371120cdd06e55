// This file makes the faults.
#include <algorithm>

#include "tests/simulation/world_parts.h"

namespace simulation {

void World::partition() {
  cut_.clear();
  std::map<MemberId, uint64_t> side;
  for (auto& [id, member] : members_) side[id] = random_.below(2);
  const bool one_way = random_.below(4) == 0;
  for (auto& [a, side_a] : side) {
    for (auto& [b, side_b] : side) cut_[{a, b}] = side_a != side_b && (!one_way || side_a == 0);
  }
  say(one_way ? "the network is cut, one way" : "the network is cut");
}

void World::change_members() {
  for (auto& [id, member] : members_) {
    if (!member->leads()) continue;
    const Membership& now = member->store->meta().members;
    std::vector<MemberId> outside;
    for (auto& [other, unused] : members_) {
      if (std::find(now.voters.begin(), now.voters.end(), other) == now.voters.end()) outside.push_back(other);
    }
    std::vector<MemberChange> changes;
    const uint64_t what = random_.below(4);
    if (what == 0 && !outside.empty())
      changes.push_back({MemberChange::Kind::add_learner, outside[random_.below(outside.size())]});
    if (what == 1 && !outside.empty()) changes.push_back({MemberChange::Kind::add_voter, outside[random_.below(outside.size())]});
    // The tests of a majority need three voters, so a member leaves only when four vote.
    if (what == 2 && now.voters.size() > 3)
      changes.push_back({MemberChange::Kind::remove, now.voters[random_.below(now.voters.size())]});
    if (what == 3 && !outside.empty()) {
      changes.push_back({MemberChange::Kind::add_voter, outside[random_.below(outside.size())]});
      changes.push_back({MemberChange::Kind::remove, now.voters[random_.below(now.voters.size())]});
    }
    if (!changes.empty() && member->core->propose_members(changes)) {
      ++tally_.membership_changes;
      say(std::to_string(id) + " proposes " + std::to_string(changes.size()) + " membership changes");
      handle_output(*member);
    }
    return;
  }
}

// The leader gives up its place, or hands it over, without asking anybody.
void World::move_leadership(Member& leader) {
  const std::vector<MemberId> running = up();
  if (random_.below(3) == 0) {
    leader.role->resign_until(now_us_ + static_cast<int64_t>(random_.below(3'000'000)));
    tell_electable(leader);
    leader.core->resign();
  } else {
    leader.core->transfer(running[random_.below(running.size())]);
  }
  handle_output(leader);
}

// Its duties tell consensus.
void World::freeze_one() {
  const std::vector<MemberId> running = up();
  if (running.empty()) return;
  Member& member = *find(running[random_.below(running.size())]);
  if (member.primary()) return;
  say(std::to_string(member.id) + " is frozen");
  member.role->freeze(static_cast<int64_t>(1 + random_.below(6'000'000)), now_us_);
}

void World::disturb() {
  if (healing_) return;
  const std::vector<MemberId> running = up();
  Member* some = running.empty() ? nullptr : find(running[random_.below(running.size())]);
  switch (random_.below(plan_.configured ? 13 : 12)) {
    case 0:
      if (some) crash(*some);
      break;
    case 1:  // the member that leads
      for (MemberId id : running) {
        if (find(id)->leads()) crash(*find(id));
      }
      break;
    case 2:
    case 3:
      for (auto& [id, member] : members_) {
        if (!member->up() && !member->copying && random_.below(3) != 0) start(*member);
      }
      break;
    case 4: partition(); break;
    case 5: cut_.clear(); break;
    case 6:
      drop_ = random_.below(2) ? random_.unit() * 0.3 : 0;
      duplicate_ = random_.below(2) ? random_.unit() * 0.3 : 0;
      delay_max_us_ = random_.below(3) == 0 ? delay_us_max : 5000;
      break;
    case 7:
      if (some) some->disk_us_max = random_.below(2) ? 2000 : 1'500'000;
      break;
    case 8:
      if (plan_.configured)
        step_down();
      else if (some && some->leads())
        move_leadership(*some);
      break;
    case 9:
      if (plan_.configured)
        reconfigure();
      else
        change_members();
      break;
    case 12: freeze_one(); break;
    default:
      for (MemberId id : running) {
        if (random_.below(2)) continue;
        Member& member = *find(id);
        member.checkpoint = member.machine;
        if (plan_.configured) {
          if (random_.below(2)) shorten(member);
          continue;
        }
        const Index tail = random_.below(30);
        if (member.machine.applied > tail) member.core->compact(member.machine.applied - tail);
        handle_output(member);
      }
  }
  at(static_cast<int64_t>(50'000 + random_.below(600'000)), [this] { disturb(); });
}

}  // namespace simulation
