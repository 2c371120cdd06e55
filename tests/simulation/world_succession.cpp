// A primary gives up the lead, by the rules of replication/succession.h, as ReplicaSet does what they say.
#include <algorithm>

#include "replication/member_ids.h"
#include "replication/succession.h"
#include "tests/simulation/world_parts.h"

namespace simulation {

using replication::MemberConfig;
using replication::StepDown;
using replication::Succession;

namespace {

constexpr int64_t round_us = 10'000;         // between two looks at how far the others are
constexpr int64_t log_lags_us_max = 50'000;  // behind writes, once they have stopped
// A step-down may take so long beyond its deadline: an attempt that begins just before it (1 s, and 2 s for the successor to
// take over), a second for somebody to get the whole log and two for the leadership to end; and the rounds in between.
constexpr int64_t step_down_over_us = 6'200'000;
constexpr int64_t word_stands_us = 2'000'000;

}  // namespace

struct World::Running {
  Succession succession;
  uint64_t life;  // the member's
  int64_t end_by_us;
  StepDown how;
  bool stops_writes = false;
  int64_t drained_us = 0;  // when the log has all writes
};

void World::hand_over_to_better(Member& primary) {
  const MemberConfig* self = plan_.configured ? member_of(*primary.config, primary.id) : nullptr;
  if (!self) return;
  primary.hands_over = true;
  carry_out(primary.id, std::make_shared<Running>(
                            Running{Succession::to_better(self->priority), primary.life, now_us_ + 7'200'000, StepDown{}}));
}

void World::step_down() {
  for (const MemberId id : up()) {
    Member& primary = *find(id);
    if (!primary.primary()) continue;
    StepDown how;
    how.period_ms = static_cast<int64_t>(random_.below(3000));
    how.catch_up_ms = static_cast<int64_t>(random_.below(3000));
    how.force = random_.below(4) == 0;
    say(std::to_string(id) + " steps down" + (how.force ? ", by force" : ""));
    ++tally_.step_downs;
    const int64_t deadline_us = now_us_ + std::max<int64_t>(how.catch_up_ms * 1000, 500'000);
    return carry_out(id, std::make_shared<Running>(
                             Running{Succession::step_down(how, now_us_), primary.life, deadline_us + step_down_over_us, how}));
  }
}

void World::carry_out(MemberId id, const std::shared_ptr<Running>& running) {
  using Move = Succession::Move;
  Member& member = *find(id);
  Succession& succession = running->succession;
  const auto again = [&](int64_t delay_us) { at(delay_us, [this, id, running] { carry_out(id, running); }); };
  for (;;) {
    if (member.life != running->life) return;  // it crashed, and has forgotten
    const std::vector<PeerProgress> progress = member.core->progress();
    const Move move = succession.next({.primary = member.primary(),
                                       .drained = now_us_ >= running->drained_us,
                                       .config = *member.config,
                                       .self = id,
                                       .last = member.store->last(),
                                       .members = member.store->meta().members,
                                       .progress = progress,
                                       .stands = [&](MemberId other) { return stands(member, other); },
                                       .nearly = joins_within},
                                      now_us_);
    if (succession.writes_stopped() != running->stops_writes) {
      running->stops_writes = succession.writes_stopped();
      member.writes_stopped += running->stops_writes ? 1 : -1;
      running->drained_us = now_us_ + static_cast<int64_t>(random_.below(log_lags_us_max));
    }
    switch (move) {
      case Move::stop_writes: break;
      case Move::look_again: return again(round_us);
      case Move::drain: return again(std::clamp<int64_t>(running->drained_us - now_us_, 1, log_lags_us_max));
      case Move::transfer:
        say(std::to_string(id) + " hands over to " + std::to_string(succession.successor()));
        check_transfer(member, succession.successor());
        member.core->transfer(succession.successor());
        handle_output(member);
        break;
      case Move::resign:
        check_resignation(member, running->how.force);
        member.role->resign_until(now_us_ + running->how.period_ms * 1000);
        tell_electable(member);
        member.core->resign();
        handle_output(member);
        break;
      case Move::over: return check_over(member, *running);
    }
  }
}

bool World::stands(Member& asking, MemberId id) {
  const Answers::Stands stands = asking.answers.stands(id, now_us_);
  if (stands.ask) {
    std::vector<Outgoing> question{{id, false, inquiry_question()}};
    send(asking, question);
  }
  return stands.yes || plan_.mutation == Mutation::blind_transfer;
}

void World::answer(Member& member, MemberId from, const Bytes& bytes) {
  const auto inquiry = decode_inquiry(bytes);
  if (!inquiry) fail("an inquiry between members was damaged");
  if (!inquiry->question) return member.answers.note(from, inquiry->answer, now_us_);
  std::vector<Outgoing> answer{{from, false, inquiry_answer({member.core->status().applied, member.core->electable()})}};
  send(member, answer);
}

// No write waits for a member that lacks some of the log, or that is known to be frozen.
void World::check_transfer(Member& primary, MemberId to) {
  const std::string who = "the lead is handed over to " + std::to_string(to) + ", which ";
  Member& heir = *find(to);
  if (primary.writes_stopped == 0) fail(who + "has to follow writes that go on");
  if (is_arbiter(to) || !replication::is_voter(primary.store->meta().members, to)) fail(who + "can't lead");
  if (!heir.disk.holds(primary.end())) fail(who + "lacks some of the log");
  if (heir.up() && heir.not_electable_since && now_us_ - *heir.not_electable_since > word_stands_us + 2 * delay_us_max)
    fail(who + "has been frozen for long");
}

void World::check_resignation(Member& primary, bool forced) {
  if (primary.writes_stopped == 0) fail("a primary resigns while writes go on");
  if (forced) return;
  for (const MemberConfig& member : primary.config->members) {
    const MemberId id = consensus_id(member);
    if (id != primary.id && member.electable() && find(id)->disk.holds(primary.end())) return;
  }
  fail("a primary resigns, and nobody else has its whole log");
}

void World::check_over(Member& member, const Running& running) {
  using Outcome = Succession::Outcome;
  const Outcome outcome = running.succession.outcome();
  const bool leads_on = outcome == Outcome::led_on || outcome == Outcome::none_caught_up;
  if (!running.succession.steps_down())
    member.hands_over = false;
  else
    say(std::to_string(member.id) + (leads_on ? " leads on" : " has stepped down"));
  if (running.stops_writes) fail("a succession is over, and writes don't go on");
  if (now_us_ > running.end_by_us) fail("a succession took too long");
  if (leads_on && !member.primary()) fail("a succession came to nothing, and the member isn't primary any more");
  if (outcome == Outcome::succeeded && member.primary()) fail("a member has a successor, and is primary");
  if (outcome == Outcome::led_on && running.succession.steps_down()) fail("a step-down ends as a hand-over does");
  if (outcome == Outcome::succeeded && running.succession.steps_down())
    member.role->step_down_until(now_us_ + running.how.period_ms * 1000);
  if (!leads_on && running.succession.successor() != 0) ++tally_.successions;
}

}  // namespace simulation
