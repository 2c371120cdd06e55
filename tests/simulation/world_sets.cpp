// Members that follow configurations: the world changes the configuration, and the rules of replication/ do the rest.
#include <algorithm>
#include <set>

#include "replication/log_shortening.h"
#include "replication/member_ids.h"
#include "replication/membership_alignment.h"
#include "tests/simulation/world_parts.h"

namespace simulation {

using replication::Alignment;
using replication::MemberConfig;
using replication::SetConfig;

namespace {

MemberConfig member_config(MemberId id, double priority) {
  MemberConfig member;
  member.arbiter = is_arbiter(id);
  member.id = static_cast<int32_t>((id & ~arbiter_bit) - 1);
  member.host = "m" + std::to_string(member.id);
  member.priority = member.arbiter ? 0 : priority;
  return member;
}

}  // namespace

void World::configure_first() {
  SetConfig config;
  config.name = "simulated";
  for (const auto& [id, member] : members_) {
    if (!member->disk.meta().members.voters.empty())
      config.members.push_back(member_config(id, may_not_lead(id) ? 0 : static_cast<double>(1 + random_.below(3))));
  }
  configurations_[1] = std::make_shared<const SetConfig>(std::move(config));
}

// A member uses the newest configuration that it has written or applied.
void World::adopt(Member& member, int64_t configuration) {
  if (configuration == 0) return;
  const auto& config = configurations_.at(configuration);
  if (member.config && !config->place().newer_than(member.config->place())) return;
  member.config = config;
  const MemberConfig* self = member_of(*config, member.id);
  member.role->configure(self ? replication::MemberPart{true, self->arbiter, self->electable()} : replication::MemberPart{}, true,
                         now_us_);
  tell_electable(member);
}

void World::write_configuration(Member& primary, SetConfig next) {
  next.term = static_cast<int64_t>(primary.role->standing().term);
  const auto number = static_cast<int64_t>(configurations_.size()) + 1;
  if (!propose(primary, {Command::Kind::configure, 0, 0, number, 0})) return;
  configurations_[number] = std::make_shared<const SetConfig>(std::move(next));
  adopt(primary, number);
  handle_output(primary);
}

// Makes one change that an operator might make. False: there is nothing to change in this way.
bool World::change(SetConfig& next, const Member& primary) {
  const auto new_priority = [this](MemberId id) { return may_not_lead(id) ? 0.0 : static_cast<double>(random_.below(4)); };
  const auto votes = std::count_if(next.members.begin(), next.members.end(), [](const MemberConfig& one) { return one.votes; });
  const auto votes_with_data =
      std::count_if(next.members.begin(), next.members.end(), [](const MemberConfig& one) { return one.votes && !one.arbiter; });
  const auto at = next.members.begin() + static_cast<std::ptrdiff_t>(random_.below(next.members.size()));
  const MemberId id = consensus_id(*at);
  // The tests of a majority need three voters, two of them with data; a member that is one of so few is needed.
  const bool needed = id == primary.id || (at->votes && votes <= 3) || (at->votes && !at->arbiter && votes_with_data <= 2);
  switch (random_.below(5)) {
    case 0:
    case 1: {
      std::vector<MemberId> outside;
      for (const auto& [other, unused] : members_) {
        if (!member_of(next, other)) outside.push_back(other);
      }
      if (outside.empty()) return false;
      const MemberId joins = outside[random_.below(outside.size())];
      MemberConfig member = member_config(joins, new_priority(joins));
      if (!member.arbiter && random_.below(4) == 0) member.votes = 0, member.priority = 0;
      next.members.push_back(member);
      return true;
    }
    case 2:
      if (needed) return false;
      next.members.erase(at);
      return true;
    case 3:
      if (at->arbiter || !at->votes) return false;
      at->priority = id == primary.id ? std::max(1.0, new_priority(id)) : new_priority(id);
      return true;
    default:
      if (at->arbiter || (at->votes && needed)) return false;
      at->votes = 1 - at->votes;
      at->priority = at->votes ? new_priority(id) : 0;
      return true;
  }
}

void World::reconfigure() {
  for (const MemberId id : up()) {
    Member& primary = *find(id);
    if (!primary.primary() || primary.writes_stopped > 0 || !member_of(*primary.config, id)) continue;
    SetConfig next = *primary.config;
    ++next.version;
    bool changed = false;
    for (int attempts = 0; attempts < 10 && !changed; ++attempts) {
      SetConfig changing = next;
      changed = change(changing, primary) && std::any_of(changing.members.begin(), changing.members.end(),
                                                         [](const MemberConfig& one) { return one.electable(); });
      if (changed) next = std::move(changing);
    }
    if (!changed) continue;
    check_reconfig(*primary.config, next, false);
    say(std::to_string(id) + " writes configuration " + std::to_string(next.version));
    ++tally_.reconfigurations;
    return write_configuration(primary, std::move(next));
  }
}

void World::align_members(Member& leader) {
  if (!plan_.configured) return;
  const CoreStatus status = leader.core->status();
  const std::vector<PeerProgress> progress = leader.core->progress();
  const Alignment alignment =
      replication::align({.config = *leader.config,
                          .self = leader.id,
                          .status = status,
                          .members = leader.store->meta().members,
                          .progress = progress,
                          .log_begins = leader.store->meta().compacted.index,
                          .entry =
                              [&leader](Index at) {
                                std::vector<EntryPtr> found;
                                return leader.store->entries(at, at + 1, 1, found) == Lookup::found ? found.front() : nullptr;
                              },
                          .within = plan_.mutation == Mutation::hasty_voter ? 1'000'000 : joins_within});
  if (alignment.shorten_first) fail("a membership that an entry brought keeps others from joining");
  if (!alignment.step) return;
  const MemberChange change = alignment.step->change;
  if (change.kind == MemberChange::Kind::add_voter) check_voter(leader, change.member);
  if (!leader.core->propose_members({change})) return;
  ++tally_.membership_changes;
  say(std::to_string(leader.id) + ": " + std::to_string(change.member) + " " + std::string(alignment.step->what));
  handle_output(leader);
}

// Its disk says how far the member is, whatever the leader knows.
void World::check_voter(Member& leader, MemberId joins) {
  const Index last = leader.store->last();
  Position at{last > joins_within ? last - joins_within : 1, 0};
  const bool known = leader.store->term(at.index, at.term) == Lookup::found;
  const Disk& disk = find(joins)->disk;
  if (known ? !disk.holds(at) : disk.last() < at.index)
    fail("member " + std::to_string(joins) + " is to vote, and lacks entry " + std::to_string(at.index));
}

void World::shorten(Member& member) {
  if (!plan_.configured) return;
  const CoreStatus status = member.core->status();
  const Index compacted = member.store->meta().compacted.index;
  const Index checkpointed =
      replication::newest_index_with(member.checkpoint.stamp, compacted, status.applied, [&member](Index at) {
        std::vector<EntryPtr> found;
        base::check(member.store->entries(at, at + 1, 1, found) == Lookup::found, "an applied entry is in the log");
        return found.front();
      });
  const bool too_long = member.disk.bytes() >= plan_.log_bytes_kept;
  std::vector<PeerProgress> progress = member.core->progress();
  if (plan_.mutation == Mutation::greedy_log) progress.clear();
  const auto upto = replication::shorten_upto({.checkpointed = checkpointed,
                                               .compacted = compacted,
                                               .applied = status.applied,
                                               .leads = member.leads(),
                                               .too_long = too_long},
                                              progress);
  if (!upto) return;
  check_shortening(member, *upto, too_long);
  ++tally_.shortenings;
  member.core->compact(*upto);
  handle_output(member);
}

void World::check_shortening(Member& member, Index upto, bool too_long) {
  Position end{upto, 0};
  if (member.store->term(upto, end.term) != Lookup::found) fail("a log is shortened beyond its end");
  if (upto > member.checkpoint.applied) fail("a log is shortened by entries that a restart needs");
  if (too_long) return;
  const Membership& members = member.store->meta().members;
  for (const auto* ids : {&members.voters, &members.learners, &members.voters_outgoing, &members.learners_next}) {
    for (const MemberId id : *ids) {
      if (!find(id)->disk.holds(end)) {
        fail("the log of " + std::to_string(member.id) + " is shortened to " + std::to_string(upto) + ", which member " +
             std::to_string(id) + " lacks");
      }
    }
  }
}

void World::forget_places(Member& primary) {
  const std::vector<PeerProgress> progress = primary.core->progress();
  const auto known = [&](const PeerProgress& one) { return primary.places.stamp_upto(one.matched); };
  const auto truth = [&](const PeerProgress& one) {
    const auto behind = primary.noted.upper_bound(one.matched);
    return behind == primary.noted.begin() ? 0 : std::prev(behind)->second;
  };
  primary.places.forget(primary.core->status().applied, progress);
  // The primary may have forgotten the places of a member that comes back from out of reach, until the member has caught up.
  std::set<MemberId> in_reach;
  for (const PeerProgress& one : progress) {
    if (known(one) > truth(one)) fail("member " + std::to_string(one.id) + " is taken to have what it lacks");
    if (!one.recently_active || is_arbiter(one.id)) continue;
    if (known(one) == truth(one) && known(one) != 0)
      in_reach.insert(one.id);
    else if (known(one) != truth(one) && primary.in_reach.contains(one.id))
      fail("it isn't known any more what member " + std::to_string(one.id) + " has");
  }
  primary.in_reach = std::move(in_reach);
}

void World::check_configured(Member& leader) {
  std::set<MemberId> voters, learners;
  double own = 0, best = 0;
  for (const MemberConfig& member : leader.config->members) {
    const MemberId id = consensus_id(member);
    (member.votes ? voters : learners).insert(id);
    if (member.electable()) best = std::max(best, member.priority);
    if (id == leader.id) own = member.priority;
  }
  const Membership& members = leader.store->meta().members;
  if (voters != std::set(members.voters.begin(), members.voters.end()) ||
      learners != std::set(members.learners.begin(), members.learners.end()))
    fail("the members of consensus are not those of the configuration");
  if (own < best) {
    fail("a member of priority " + std::to_string(own) + " leads, and one of priority " + std::to_string(best) + " could");
  }
}

}  // namespace simulation
