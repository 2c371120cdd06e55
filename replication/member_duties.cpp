#include "replication/member_duties.h"

namespace replication {

void MemberDuties::do_round() {
  MemberMachine::Due due;
  ask([&](MemberMachine& machine, int64_t now_us) { due = machine.due(now_us); });
  if (due.roll_back) roll_back();
  if (due.end_leadership) end_leadership();
  if (takes_part()) take_part();
  expire_waits();
  if (due.log_begins && !starts_anew()) begin_log_anew(*due.log_begins);
  if (due.copy && !starts_anew()) copy_anew();
}

void MemberDuties::do_if_part(void (MemberDuties::*duty)()) {
  if (takes_part()) (this->*duty)();
}

void MemberDuties::take_part() {
  look_around();
  do_if_part(&MemberDuties::take_over);
  if (!takes_part()) return;
  std::optional<MemberMachine::PrimaryDue> as_primary;
  ask([&](MemberMachine& machine, int64_t now_us) {
    if (machine.state() == MemberState::primary) as_primary = machine.primary_due(now_us);
  });
  if (as_primary) lead(*as_primary);
  if (!takes_part()) return;
  bool passes_on = false;
  ask([&](MemberMachine& machine, int64_t now_us) { passes_on = machine.pass_on_due(now_us); });
  if (passes_on) pass_on_lead();
  do_if_part(&MemberDuties::tend_readers);
  if (!takes_part()) return;
  bool shortens = false;
  ask([&](MemberMachine& machine, int64_t now_us) { shortens = machine.shorten_due(now_us); });
  if (shortens) shorten_log();
  if (!takes_part()) return;
  bool changed = false;
  ask([&](MemberMachine& machine, int64_t now_us) { changed = machine.renew_electable(now_us); });
  if (changed) tell_electability();
}

void MemberDuties::lead(const MemberMachine::PrimaryDue& due) {
  count_members();
  if (due.align) do_if_part(&MemberDuties::align_members);
  do_if_part(&MemberDuties::forget_places);
  if (due.advance_time) do_if_part(&MemberDuties::advance_time);
  if (due.hand_over) do_if_part(&MemberDuties::hand_over_to_better);
  if (due.step_down) do_if_part(&MemberDuties::step_down_damaged);
}

}  // namespace replication
