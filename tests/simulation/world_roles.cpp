// Members' roles: the state machine of replication/member_machine.h, asked in the order of replication/member_duties.h. A
// member's writes go through the log before they are applied here, so that a rollback has nothing to take away but the member's
// memory: it starts anew.
#include <algorithm>

#include "replication/member_duties.h"
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

// One round of a member's duties, in one life of it. No simulated member has damaged data or a full disk, and whoever is behind
// the log copies at once (copy_from_another).
struct World::Duties final : replication::MemberDuties {
  Duties(World& the_world, Member& the_member) : world(the_world), member(the_member), life(the_member.life) {}

  void ask(const Question& question) override { question(*member.role, world.now_us_); }
  bool starts_anew() override { return member.life != life; }
  bool takes_part() override { return member.life == life; }

  void roll_back() override { world.start_over(member); }
  void end_leadership() override {
    if (starts_anew()) return;
    member.role->stop_writing();
    if (!member.role->unsure()) member.unsure = false;
  }
  void look_around() override {}
  void take_over() override { world.take_over(member); }
  void pass_on_lead() override { world.pass_on_lead(member); }
  void tend_readers() override {}
  void shorten_log() override { world.shorten(member); }
  void tell_electability() override {
    world.tell_electable(member);
    world.handle_output(member);
  }
  void count_members() override {
    if (!member.leads()) world.fail("a member is primary, and consensus has another leader");
  }
  void align_members() override { world.align_members(member); }
  void forget_places() override { world.forget_places(member); }
  void advance_time() override {}
  void hand_over_to_better() override { world.hand_over_to_better(member); }
  void step_down_damaged() override { world.fail("a member steps down because of damage that it doesn't have"); }
  void expire_waits() override {}
  void begin_log_anew(const Behind&) override { world.fail("a member is to begin its log anew, and has done so"); }
  void copy_anew() override { world.fail("a member is to copy, and didn't say that it wants to"); }

  World& world;
  Member& member;
  const uint64_t life;
};

// A hand-over takes the thread of a server's duties.
void World::do_duties(Member& member) {
  if (!member.hands_over) Duties(*this, member).do_round();
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
