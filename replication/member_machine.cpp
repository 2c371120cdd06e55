#include "replication/member_machine.h"

#include <algorithm>
#include <utility>

namespace replication {

using consensus::Role;

namespace {

constexpr int64_t second_us = 1'000'000;
constexpr int64_t align_every_us = second_us / 5;
constexpr int64_t advance_every_us = second_us;
constexpr int64_t hand_over_every_us = second_us;
constexpr int64_t pass_on_every_us = second_us / 10;
constexpr int64_t shorten_every_us = 5 * second_us;
constexpr int64_t step_down_every_us = 10 * second_us;
constexpr int64_t copy_again_us = 10 * second_us;
constexpr int64_t commit_wait_us = second_us / 2;  // for a new primary's first entry, before it goes on without
constexpr int64_t new_primary_us = 2 * second_us;  // before somebody better than a new primary is looked for

// Is it `every` since `last`? Then it is from now on.
bool comes_round(int64_t& last_us, int64_t every_us, int64_t now_us) {
  if (now_us - last_us < every_us) return false;
  last_us = now_us;
  return true;
}

}  // namespace

void MemberMachine::become(MemberState state, int64_t now_us) {
  if (state_ == state) return;
  state_ = state;
  since_us_ = now_us;
}

MemberState MemberMachine::own_state() const {
  if (!part_.in_set) return MemberState::removed;
  if (part_.arbiter) return MemberState::arbiter;
  return maintenance_ > 0 || distrusted_ ? MemberState::recovering : MemberState::secondary;
}

void MemberMachine::configure(const MemberPart& part, bool running, int64_t now_us) {
  part_ = part;
  if (!running) return;
  if (part.in_set ? state_ == MemberState::removed : state_ != MemberState::primary) become(own_state(), now_us);
}

MemberMachine::Stood MemberMachine::stand(const consensus::Standing& standing, int64_t now_us) {
  Stood out;
  out.led = standing_.role == Role::leader;
  standing_ = standing;
  stood_us_ = now_us;
  if (out.led) demoted_ = true;
  elected_ = standing.role == Role::leader;
  if (state_ == MemberState::primary) {
    out.stepped_down = true;
    become(own_state(), now_us);
  }
  return out;
}

void MemberMachine::fall_behind(const consensus::Behind& behind, bool arbiter) {
  if (arbiter)
    log_begins_ = behind;
  else
    copy_wanted_ = true;
}

MemberMachine::TakeOver MemberMachine::take_over(bool caught_up, bool arbiters, int64_t now_us) const {
  if (!elected_ || is_caretaker() || unsure()) return TakeOver::no;
  if (caught_up) return TakeOver::now;
  return arbiters && now_us - stood_us_ >= commit_wait_us ? TakeOver::ahead : TakeOver::no;
}

bool MemberMachine::write_in(consensus::Term term) {
  if (!elected_ || demoted_ || standing_.term != term) return false;
  wrote_ = true;
  return true;
}

bool MemberMachine::lead(consensus::Term term, int64_t now_us) {
  if (!elected_ || standing_.term != term) return false;
  elected_ = false;
  become(MemberState::primary, now_us);
  return true;
}

consensus::Candidacy MemberMachine::candidacy(uint32_t rank) const {
  using When = consensus::Candidacy::When;
  if (!stands() || part_.arbiter) return {.when = When::never};
  return {.when = part_.electable && !lacks_room_ && !lacks_all_room_ ? When::as_ranked : When::last, .rank = rank};
}

void MemberMachine::freeze(int64_t us, int64_t now_us) {
  electable_from_us_ = us == 0 ? 0 : std::max(electable_from_us_, now_us + us);
}

void MemberMachine::resign_until(int64_t until_us) {
  electable_from_us_ = until_us;
  electable_ = false;
}

bool MemberMachine::maintain(bool on, int64_t now_us) {
  if (!on && maintenance_ == 0) return false;
  maintenance_ += on ? 1 : -1;
  become(own_state(), now_us);
  return true;
}

MemberMachine::Due MemberMachine::due(int64_t now_us) {
  Due out;
  const bool follows = state_ == own_state() && standing_.leader != 0 && !elected_ && !unsure();
  out.roll_back = std::exchange(replaced_, false);
  out.end_leadership = std::exchange(demoted_, false);
  out.log_begins = log_begins_;
  if (damaged_ && follows && !part_.arbiter) copy_wanted_ = true;  // without a leader there is nobody to copy from
  if (copy_wanted_ && part_.in_set && (!copied_us_ || now_us - *copied_us_ >= copy_again_us)) {
    copied_us_ = now_us;
    out.copy = true;
  }
  return out;
}

MemberMachine::PrimaryDue MemberMachine::primary_due(int64_t now_us) {
  PrimaryDue out;
  out.align = comes_round(aligned_us_, align_every_us, now_us);
  out.advance_time = comes_round(advanced_us_, advance_every_us, now_us);
  out.hand_over =
      comes_round(handed_over_us_, hand_over_every_us, now_us) && part_.in_set && now_us - since_us_ >= new_primary_us;
  out.step_down = damaged_ && comes_round(stepped_down_us_, step_down_every_us, now_us);
  return out;
}

bool MemberMachine::pass_on_due(int64_t now_us) {
  return is_caretaker() && comes_round(passed_on_us_, pass_on_every_us, now_us);
}

bool MemberMachine::shorten_due(int64_t now_us) {
  return comes_round(shortened_us_, shorten_every_us, now_us);
}

bool MemberMachine::renew_electable(int64_t now_us) {
  const bool before = std::exchange(electable_, now_us >= electable_from_us_);
  return before != electable_;
}

}  // namespace replication
