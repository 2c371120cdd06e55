// Members' roles: the state machine of replication/member_machine.h, driven as ReplicaSet drives it. A member's writes go through
// the log before they are applied here, so that a rollback has nothing to take away but the member's memory: it starts anew.
#include <algorithm>

#include "replication/member_ids.h"
#include "tests/simulation/world_parts.h"

namespace simulation {

using replication::MemberMachine;
using replication::MemberState;

// Returns how the member stands for election at its start.
Candidacy World::begin_role(Member& member) {
  member.role.emplace(now_us_);
  member.caught_up = 0;
  member.proposed = 0;
  member.unsure = member.starts_over = member.hands_over = false;
  member.answers = {};
  member.places = {};
  member.noted.clear();
  member.in_reach.clear();
  member.writes_stopped = 0;
  const bool in_set = !plan_.configured || (member.config && member_of(*member.config, member.id));
  member.role->configure({in_set, is_arbiter(member.id), may_lead(member)}, true, now_us_);
  member.role->begin(now_us_);
  return candidacy_of(member);
}

void World::stood(Member& member, const replication::consensus::Standing& standing) {
  const bool was_primary = member.primary();
  const MemberMachine::Stood stood = member.role->stand(standing, now_us_);
  if (stood.led) member.unsure = true;
  if (stood.stepped_down != was_primary) fail("a member doesn't know whether it stepped down");
  if (member.primary()) fail("a member is primary when it has only just been elected");
  if (member.leads() && !may_lead(member)) ++tally_.caretakers;
}

void World::run_duties(Member& member) {
  if (member.hands_over) return;
  const uint64_t life = member.life;
  const MemberMachine::Due due = member.role->due(now_us_);
  if (due.roll_back) return start_over(member);
  if (due.end_leadership) {
    member.role->stop_writing();
    if (!member.role->unsure()) member.unsure = false;
  }
  take_over(member);
  if (member.primary()) {
    if (!member.leads()) fail("a member is primary, and consensus has another leader");
    const MemberMachine::PrimaryDue duties = member.role->primary_due(now_us_);
    forget_places(member);
    if (duties.align) align_members(member);
    if (duties.hand_over && member.life == life) hand_over_to_better(member);
  }
  if (member.life != life) return;
  pass_on_lead(member);
  if (member.life != life) return;
  if (member.role->shorten_due(now_us_)) shorten(member);
  if (member.life != life || !member.role->renew_electable(now_us_)) return;
  tell_electable(member);
  handle_output(member);
}

Candidacy World::candidacy_of(Member& member) {
  const Candidacy candidacy = member.role->candidacy(rank_of(member));
  if (candidacy.electable())
    member.not_electable_since.reset();
  else if (!member.not_electable_since)
    member.not_electable_since = now_us_;
  return candidacy;
}

// The caller handles the core's output.
void World::tell_electable(Member& member) {
  member.core->set_candidacy(candidacy_of(member));
}

// A caretaker hands on what it may not keep.
void World::pass_on_lead(Member& member) {
  if (!member.role->pass_on_due(now_us_)) return;
  const std::vector<PeerProgress> progress = member.core->progress();
  for (const PeerProgress& heir : progress) {
    Member* const other = find(heir.id);
    if (!heir.recently_active || heir.matched < member.store->last() || !other || !may_lead(*other)) continue;
    if (!replication::is_voter(member.store->meta().members, heir.id) || !stands(member, heir.id)) continue;
    say(std::to_string(member.id) + " passes the lead on to " + std::to_string(heir.id));
    member.core->transfer(heir.id);
    return handle_output(member);
  }
}

void World::take_over(Member& member) {
  const Term term = member.role->standing().term;
  const bool arbiters = plan_.configured
                            ? member.config && std::any_of(member.config->members.begin(), member.config->members.end(),
                                                           [](const auto& each) { return each.arbiter; })
                            : plan_.arbiters > 0;
  const bool caught_up = member.caught_up == term || plan_.mutation == Mutation::early_primary;
  if (member.unsure) return;
  const MemberMachine::TakeOver how = member.role->take_over(caught_up, arbiters, now_us_);
  if (how == MemberMachine::TakeOver::no) return;
  if (!member.role->write_in(term) || !member.role->lead(term, now_us_)) fail("a member's take-over is over before it began");
  check_primary(member, how == MemberMachine::TakeOver::ahead);
  if (plan_.configured) write_configuration(member, *member.config);
}

// The member's process starts anew, at once.
void World::start_over(Member& member) {
  say(std::to_string(member.id) + " starts over");
  crash(member);
  start(member);
}

// `ahead`: what the member's log has is applied before it is committed, which check_leader looks at.
void World::check_primary(Member& member, bool ahead) {
  const Term term = member.role->standing().term;
  say(std::to_string(member.id) + " is primary in term " + std::to_string(term));
  ++tally_.primaries;
  if (!member.primary() || !member.leads()) fail("a member took over, and isn't primary");
  if (!may_lead(member)) fail("a member is primary that must not be");
  const auto [known, fresh] = primaries_.try_emplace(term, member.id);
  if (!fresh && known->second != member.id) fail("two primaries in term " + std::to_string(term));
  if (ahead) return;
  for (auto entry = committed_.rbegin(); entry != committed_.rend(); ++entry) {
    if (entry->second->term >= term) continue;
    if (entry->first > member.machine.applied) {
      fail("the primary of term " + std::to_string(term) + " has not applied entry " + std::to_string(entry->first) +
           ", which was committed before");
    }
    break;
  }
}

}  // namespace simulation
