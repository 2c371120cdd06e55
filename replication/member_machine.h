// The member machine is a state machine that decides what a member of a replica set is, and what the member has to do next:
// events and the time go in, and the duties that are due come out. It has no threads, no clock and no I/O. `ReplicaSet` drives it
// on a server, and tests/simulation on a simulated clock.
//
//   STARTUP --has the configuration and a log--> SECONDARY or ARBITER <--maintenance--> RECOVERING
//           --needs another member's data------> STARTUP2, until the driver starts anew with the copy
//
//   SECONDARY --finds that its data is damaged--> STARTUP2; RECOVERING until then, if its data may lack something without a trace
//   SECONDARY --elected: take_over, once everything before its term is applied--> PRIMARY
//   PRIMARY   --another leads, or nobody--> SECONDARY: end_leadership is due, and roll_back where writes were lost
//
// Times are microseconds of a monotonic clock. The machine serves one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "replication/consensus/raft_core.h"
#include "replication/coordinator.h"

namespace replication {

// The configuration says this of the member.
struct MemberPart {
  bool in_set = false;
  bool arbiter = false;
  bool electable = false;
};

class MemberMachine {
 public:
  explicit MemberMachine(int64_t now_us) : since_us_(now_us), handed_over_us_(now_us), shortened_us_(now_us) {}

  MemberState state() const { return state_; }
  int64_t since_us() const { return since_us_; }  // in this state
  const consensus::Standing& standing() const { return standing_; }
  // Returns whether the member was elected, and isn't yet PRIMARY.
  bool about_to_lead() const { return elected_; }
  // It leads, and can't become PRIMARY, or can't now.
  bool is_caretaker() const { return elected_ && (!part_.electable || lacks_room_ || lacks_all_room_); }
  bool lacks_room() const { return lacks_room_; }
  bool lacks_all_room() const { return lacks_all_room_; }
  bool copy_wanted() const { return copy_wanted_; }
  int maintenance() const { return maintenance_; }
  // May this member become PRIMARY?
  bool electable() const { return part_.electable && stands(); }
  // Returns how it stands for election. `rank` is its rank among those that may become PRIMARY. A member whose priority is 0
  // stands last, and so does one that lacks room: if it alone has the end of the log, nobody could be elected without it. It is a
  // caretaker then, and passes the lead on.
  consensus::Candidacy candidacy(uint32_t rank) const;
  // Leadership has ended, or own writes were replaced, and the driver hasn't dealt with it: until then it isn't known what of
  // this member's own writes stays, and nothing may be applied.
  bool unsure() const { return demoted_ || replaced_; }

  // ---- the configuration ----
  // Another configuration is in use. `running`: consensus runs here, so that the state follows.
  void configure(const MemberPart& part, bool running, int64_t now_us);
  // The member has a configuration and a log: it takes part.
  void begin(int64_t now_us) { become(own_state(), now_us); }
  // The member has nothing yet of what the set has committed.
  void await_data(int64_t now_us) { become(MemberState::startup2, now_us); }
  void want_copy() { copy_wanted_ = true; }
  // Some of this member's data can't be read, and another member has data: it hands over if it leads, and wants a copy then.
  void data_damaged() { damaged_ = true; }
  // The same, and nobody may read from this member before, because its data may lack something without a trace. Nor may it lead:
  // others would copy its data, and a member that comes back later would have more.
  void distrust_data() { damaged_ = distrusted_ = true; }
  // The disk has no room for what the log says, so this member can't take over yet; or it has room again.
  void lack_room(bool lacks) { lacks_room_ = lacks; }
  // The disk has no room for any write, or for this member's log, so that it can't even vote: another member should lead. Or
  // there is room again. Returns whether that is new.
  bool lack_all_room(bool lacks) { return std::exchange(lacks_all_room_, lacks) != lacks; }
  // The log can't be replayed any further, so this member could never take over.
  void end_replay() { replays_ = false; }

  // ---- what consensus decides ----
  struct Stood {
    bool led = false;           // before: what is committed from here on waits, see unsure()
    bool stepped_down = false;  // it was PRIMARY, and isn't
  };
  Stood stand(const consensus::Standing& standing, int64_t now_us);
  // The set has decided against entries that stand in this member's data.
  void replaced() { replaced_ = true; }
  // The leader's log begins behind the end of this member's. `arbiter`: consensus runs here without data.
  void fall_behind(const consensus::Behind& behind, bool arbiter);

  // ---- taking over ----
  enum class TakeOver { no, now, ahead };  // ahead: before what it has in its log is majority-committed
  // `caught_up`: everything before the first entry of this term is applied. `arbiters`: the set has some, so that a majority of
  // the data may be away for long.
  TakeOver take_over(bool caught_up, bool arbiters, int64_t now_us) const;
  // The driver is going to write in `term`. False: that is over already.
  bool write_in(consensus::Term term);
  // Its configuration is written in `term`. True: it is PRIMARY from here on. False: that is over already.
  bool lead(consensus::Term term, int64_t now_us);
  // The driver has stopped writing. Had it written in its term, so that something may not have reached the log?
  bool stop_writing() { return std::exchange(wrote_, false); }

  // ---- what commands ask ----
  // The member isn't electable for `us` from now; 0: it is electable again.
  void freeze(int64_t us, int64_t now_us);
  // The member isn't electable until then: from the next renew_electable on, or at once.
  void step_down_until(int64_t until_us) { electable_from_us_ = until_us; }
  void resign_until(int64_t until_us);
  // Begins or ends maintenance once. False: there is none to end.
  bool maintain(bool on, int64_t now_us);

  // ---- what is due ----
  struct Due {
    bool roll_back = false;
    bool end_leadership = false;
    std::optional<consensus::Behind> log_begins;  // where this arbiter's log is to begin anew
    bool copy = false;                            // another member's data, whole
  };
  // Each is due once, but `copy` and `log_begins`, which are due until the driver starts anew.
  Due due(int64_t now_us);
  struct PrimaryDue {
    bool align = false;         // consensus with the configuration
    bool advance_time = false;  // of the oplog
    bool hand_over = false;     // to a better member; while this one lacks all room, every other one is better
    bool step_down = false;     // because data is damaged
  };
  // True: this member leads as a caretaker, and whoever may be PRIMARY and has its log should lead instead.
  bool pass_on_due(int64_t now_us);
  PrimaryDue primary_due(int64_t now_us);  // of a PRIMARY
  bool shorten_due(int64_t now_us);
  // True: the driver has to tell consensus what electable() says.
  bool renew_electable(int64_t now_us);

 private:
  bool stands() const { return part_.in_set && electable_ && maintenance_ == 0 && replays_ && !distrusted_; }
  void become(MemberState state, int64_t now_us);
  MemberState own_state() const;  // of a member that doesn't lead

  MemberState state_ = MemberState::startup;
  int64_t since_us_;
  MemberPart part_;
  consensus::Standing standing_;
  int64_t stood_us_ = 0;  // when standing_ came
  bool elected_ = false;  // standing_ says so, and `lead` is still to come
  bool demoted_ = false;  // end_leadership is still due
  bool replaced_ = false;
  bool wrote_ = false;
  bool electable_ = true;  // as far as stepping down and freezing go
  int64_t electable_from_us_ = 0;
  int maintenance_ = 0;  // how often it was begun and not ended
  bool copy_wanted_ = false;
  bool damaged_ = false, distrusted_ = false;
  bool replays_ = true;
  bool lacks_room_ = false;
  bool lacks_all_room_ = false;
  std::optional<consensus::Behind> log_begins_;
  int64_t aligned_us_ = 0, advanced_us_ = 0, passed_on_us_ = 0, stepped_down_us_ = 0, handed_over_us_, shortened_us_;
  std::optional<int64_t> copied_us_;
};

}  // namespace replication
