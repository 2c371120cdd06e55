// A member does its duties in rounds. A round asks the member machine what is due, in this order, and has the driver do it:
//
//   roll back, stop leading | look around, take over | as PRIMARY: align members .. hand over | pass the lead on .. | copy anew
//
// ReplicaSet does the duties of a server, and tests/simulation those of its members, so that the order is the same and is tested
// there. How a duty is done is the driver's alone.
#pragma once

#include <functional>

#include "replication/member_machine.h"

namespace replication {

class MemberDuties {
 public:
  // Throws what a duty throws; the duties behind it wait for another round. No duty is done once the member starts anew, but for
  // the end of leadership, which others wait for.
  void do_round();

 protected:
  MemberDuties() = default;
  ~MemberDuties() = default;
  using Question = std::function<void(MemberMachine& machine, int64_t now_us)>;

 private:
  // Calls `question` with the machine, which nobody else uses meanwhile, and the time.
  virtual void ask(const Question& question) = 0;
  // Returns whether the member is about to start anew, with what is stored.
  virtual bool starts_anew() = 0;
  // Returns whether consensus runs here, and the member doesn't start anew.
  virtual bool takes_part() = 0;

  // ---- of what consensus has decided ----
  virtual void roll_back() = 0;  // the member's writes that were replaced
  virtual void end_leadership() = 0;

  // ---- of a member that takes part ----
  virtual void look_around() = 0;  // at the disk and the data, before it takes over
  virtual void take_over() = 0;    // if the machine says so
  virtual void pass_on_lead() = 0;
  virtual void tend_readers() = 0;
  virtual void shorten_log() = 0;
  virtual void tell_electability() = 0;  // to consensus: it has changed

  // ---- of a PRIMARY ----
  virtual void count_members() = 0;  // that have its writes
  virtual void align_members() = 0;  // of consensus with the configuration
  virtual void forget_places() = 0;
  virtual void advance_time() = 0;
  virtual void hand_over_to_better() = 0;
  virtual void step_down_damaged() = 0;

  // ---- of any member ----
  virtual void expire_waits() = 0;
  virtual void begin_log_anew(const consensus::Behind& behind) = 0;
  virtual void copy_anew() = 0;

  void do_if_part(void (MemberDuties::*duty)());
  void take_part();
  void lead(const MemberMachine::PrimaryDue& due);
};

}  // namespace replication
