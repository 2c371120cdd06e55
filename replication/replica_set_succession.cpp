// A primary gives up the lead: this file does what succession.h decides.
#include <chrono>

#include "base/log.h"
#include "replication/member_ids.h"
#include "replication/replica_set.h"

namespace replication {

using base::ErrorCode;
using base::LogComponent;
using base::OperationError;
using base::Severity;
using consensus::MemberId;

namespace {

constexpr auto round = std::chrono::milliseconds(2);  // between two looks at how far the others are

}  // namespace

ReplicaSet::WritesStopped::WritesStopped(ReplicaSet& set) : set_(set) {
  {
    const base::MutexLock lock(set_.mutex_);
    if (++set_.stepping_down_ == 1 && set_.state_ == MemberState::primary) set_.options_.changed();
  }
  // The mutex alone would let new ones in before who waits for it.
  set_.writes_held_ = true;
  set_.options_.interrupt_writers();
  alone_ = std::unique_lock(set_.primary_mutex_);
  {
    const base::MutexLock lock(set_.mutex_);
    set_.writes_held_ = false;
  }
  set_.woken_.notify_all();
}

ReplicaSet::WritesStopped::~WritesStopped() {
  const base::MutexLock lock(set_.mutex_);
  if (--set_.stepping_down_ == 0 && set_.state_ == MemberState::primary) set_.options_.changed();
}

Succession::Move ReplicaSet::next_move(Succession& succession, bool drained) {
  const base::MutexLock lock(mutex_);
  const consensus::Membership members = node_->members();
  const std::vector<consensus::PeerProgress> progress = node_->progress();
  return succession.next({.primary = machine_.state() == MemberState::primary && !stopping_,
                          .drained = drained,
                          .config = *config_,
                          .self = node_id_,
                          .last = node_->status().last,
                          .members = members,
                          .progress = progress,
                          .stands = [this](MemberId id) { return node_->stands(id); }},
                         now_us());
}

// `period_us`: so long this member isn't electable after it has resigned.
Succession::Outcome ReplicaSet::carry_out(Succession& succession, int64_t period_us) {
  std::optional<WritesStopped> none_writes;
  bool drained = false;
  for (;;) {
    const Succession::Move move = next_move(succession, drained);
    if (!succession.writes_stopped()) none_writes.reset();
    switch (move) {
      case Succession::Move::stop_writes:
        if (none_writes) break;
        if (!succession.steps_down()) {
          base::log(Severity::info, LogComponent::repl, 7100035,
                    "A member with a higher priority, or with room on its disk, has caught up and takes over");
        }
        none_writes.emplace(*this);
        drained = false;
        break;
      case Succession::Move::drain:
        drained = pump_->drain(std::chrono::microseconds(std::max<int64_t>(0, succession.until_us() - now_us())));
        break;
      case Succession::Move::transfer: node_->transfer(succession.successor()); break;
      case Succession::Move::resign: {
        const base::MutexLock lock(mutex_);
        machine_.resign_until(now_us() + period_us);
        tell_electable();
        node_->resign();
        break;
      }
      case Succession::Move::look_again: {
        base::MutexLock lock(mutex_);
        woken_.wait_for(lock, round);
        break;
      }
      case Succession::Move::over: return succession.outcome();
    }
  }
}

// A member that has no room for any write, or for its log, is no use as primary: anyone else is better who can be elected without
// its vote.
void ReplicaSet::hand_over_to_better() {
  double own = 0;
  {
    const base::MutexLock lock(mutex_);
    if (self_ >= config_->members.size()) return;
    own = config_->members[self_].priority;
    if (machine_.lacks_all_room()) {
      if (!elect_without(node_->members(), node_->progress(), node_id_)) return;
      own = -1;
    }
  }
  Succession succession = Succession::to_better(own);
  carry_out(succession, 0);
}

void ReplicaSet::step_down(const StepDown& how) {
  if (state() != MemberState::primary) throw OperationError(ErrorCode::not_writable_primary, "not primary so can't step down");
  Succession succession = Succession::step_down(how, now_us());
  switch (carry_out(succession, how.period_ms * 1000)) {
    case Succession::Outcome::none_caught_up:
      throw OperationError(
          ErrorCode::exceeded_time_limit,
          "No electable secondaries caught up as of " + base::iso_date(clock_.wall_ms()) +
              ". Please use the replSetStepDown command with the argument {force: true} to force node to step down.");
    case Succession::Outcome::led_on:
    case Succession::Outcome::resigned: return;
    case Succession::Outcome::succeeded: break;
  }
  {
    const base::MutexLock lock(mutex_);
    machine_.step_down_until(now_us() + how.period_ms * 1000);
  }
  woken_.notify_all();
  answer_acks();
}

// A server that shuts down closes its connections after the step-down. So this function waits until clients have been told what
// became of their writes: the set commits most of them a moment after the step-down.
void ReplicaSet::answer_acks() {
  const int64_t until = now_us() + ack_grace_us;
  while (!acks_.empty() && now_us() <= until) {
    std::this_thread::sleep_for(round);
    expire_waits();
  }
}

}  // namespace replication
