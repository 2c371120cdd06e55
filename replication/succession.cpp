#include "replication/succession.h"

#include <algorithm>

#include "replication/member_ids.h"

namespace replication {

using consensus::Index;
using consensus::MemberId;

namespace {

constexpr int64_t second_us = 1'000'000;
constexpr int64_t to_better_us = 5 * second_us;       // for one with a higher priority to get the rest of the log
constexpr int64_t attempt_us_min = second_us;         // of a step-down, before its deadline or beyond
constexpr int64_t take_over_us = 2 * second_us;       // for who is asked to lead, or for this member to lead no more
constexpr int64_t whole_log_us = second_us;           // for somebody to have it, before this member resigns
constexpr int64_t answers_within_us = second_us / 2;  // of those who are asked whether they would lead

}  // namespace

std::vector<Heir> caught_up(const SuccessionView& view, Index within) {
  std::vector<Heir> found;
  for (const MemberConfig& member : view.config.members) {
    const MemberId id = consensus_id(member);
    if (id == view.self || !member.electable() || !is_voter(view.members, id)) continue;
    const consensus::PeerProgress* reached = progress_of(view.progress, id);
    if (reached && reached->recently_active && reached->matched + within >= view.last) found.push_back({id, member.priority});
  }
  std::stable_sort(found.begin(), found.end(), [](const Heir& a, const Heir& b) { return a.priority > b.priority; });
  return found;
}

std::optional<MemberId> best_caught_up(const SuccessionView& view, double above, const std::set<MemberId>& but, Index within) {
  for (const Heir& heir : caught_up(view, within)) {
    if (heir.priority > above && !but.contains(heir.id) && view.stands(heir.id)) return heir.id;
  }
  return std::nullopt;
}

Succession Succession::to_better(double own_priority) {
  return {own_priority, false, false, 0};
}

Succession Succession::step_down(const StepDown& how, int64_t now_us) {
  return {-1, true, how.force, now_us + std::max(how.catch_up_ms * 1000, answers_within_us)};
}

Succession::Move Succession::next(const SuccessionView& view, int64_t now_us) {
  if (!view.primary) return end(phase_ == Phase::resigning ? Outcome::resigned : Outcome::succeeded);
  switch (phase_) {
    case Phase::looking: return look(view, now_us);
    case Phase::stopped: phase_ = Phase::draining; return Move::drain;
    case Phase::draining:
      if (!view.drained) return now_us < until_us_ ? Move::drain : failed(view, now_us);
      phase_ = Phase::choosing;
      [[fallthrough]];
    case Phase::choosing: return choose(view, now_us);
    case Phase::transferring:
      if (now_us < until_us_) return Move::look_again;
      refused_.insert(successor_);
      return failed(view, now_us);
    case Phase::stopped_for_good:
      phase_ = Phase::emptying;
      until_us_ = now_us + whole_log_us;
      return Move::drain;
    case Phase::emptying:
      if (!view.drained && now_us < until_us_) return Move::drain;
      phase_ = Phase::waiting;
      [[fallthrough]];
    case Phase::waiting: return wait_for_whole_log(view, now_us);
    case Phase::resigning: break;
  }
  return now_us < until_us_ ? Move::look_again : end(Outcome::resigned);
}

Succession::Move Succession::look(const SuccessionView& view, int64_t now_us) {
  if (best_caught_up(view, above_, refused_, view.nearly)) {
    until_us_ = steps_down_ ? std::max(deadline_us_, now_us + attempt_us_min) : now_us + to_better_us;
    phase_ = Phase::stopped;
    writes_stopped_ = true;
    return Move::stop_writes;
  }
  refused_.clear();
  return failed(view, now_us);
}

// Whoever has the rest of the log first takes over.
Succession::Move Succession::choose(const SuccessionView& view, int64_t now_us) {
  if (const auto best = best_caught_up(view, above_, refused_, 0)) {
    successor_ = *best;
    until_us_ = now_us + take_over_us;
    phase_ = Phase::transferring;
    return Move::transfer;
  }
  if (now_us > until_us_ || !best_caught_up(view, above_, refused_, view.nearly)) return failed(view, now_us);
  return Move::look_again;
}

Succession::Move Succession::failed(const SuccessionView& view, int64_t now_us) {
  if (!steps_down_) return end(Outcome::led_on);
  if (now_us >= deadline_us_) return give_up(view);
  phase_ = Phase::looking;
  writes_stopped_ = false;
  return Move::look_again;
}

// Members that have the log may be frozen: then there is no primary until one of them isn't any more.
Succession::Move Succession::give_up(const SuccessionView& view) {
  if (!force_ && caught_up(view, view.nearly).empty()) return end(Outcome::none_caught_up);
  phase_ = Phase::stopped_for_good;
  writes_stopped_ = true;
  return Move::stop_writes;
}

Succession::Move Succession::wait_for_whole_log(const SuccessionView& view, int64_t now_us) {
  if (!force_ && caught_up(view, 0).empty()) return now_us < until_us_ ? Move::look_again : end(Outcome::none_caught_up);
  phase_ = Phase::resigning;
  until_us_ = now_us + take_over_us;
  return Move::resign;
}

Succession::Move Succession::end(Outcome outcome) {
  outcome_ = outcome;
  writes_stopped_ = false;
  return Move::over;
}

}  // namespace replication
