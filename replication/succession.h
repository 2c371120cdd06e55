// A primary gives up the lead to a member with a higher priority, or because a command tells it to step down. Succession is the
// state machine that chooses the successor: the primary's view and the time go in, and the primary's next move comes out.
//
//   look around --somebody is nearly caught up--> stop writes --the log has them all--> choose --the best has them all-->
//   transfer
//        ^                                             |  not in time                      |  nobody does in time            |
//        +---------- writes go on, unless it ends -----+-----------------------------------+------ it didn't take over ------+
//
//   stepping down, and the time is up: resign where somebody has the whole log, or where it is forced
//
// Only a member that has said that it would lead is asked to take over. One that was asked in vain isn't asked again while others
// are left. Times are microseconds of a monotonic clock. An object serves one thread at a time.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "replication/coordinator.h"
#include "replication/member_ids.h"

namespace replication {

struct Heir {
  consensus::MemberId id;
  double priority;
};

// The view holds what the primary knows of itself and of the others at one moment.
struct SuccessionView {
  bool primary = false;  // this member is still primary
  bool drained = false;  // the log has all writes that were made before they stopped
  const SetConfig& config;
  consensus::MemberId self = 0;
  consensus::Index last = 0;  // of this member's log
  const consensus::Membership& members;
  const std::vector<consensus::PeerProgress>& progress;
  std::function<bool(consensus::MemberId)> stands;  // returns whether the member has said that it would lead
  consensus::Index nearly = caught_up_within;
};

// Returns the electable voters in reach that lack at most `within` entries of the log, the highest priority first.
std::vector<Heir> caught_up(const SuccessionView& view, consensus::Index within);
// Returns the first of them that has a priority above `above`, is not among `but`, and says that it would lead. A frozen member
// doesn't say so, and no write waits for it.
std::optional<consensus::MemberId> best_caught_up(const SuccessionView& view, double above,
                                                  const std::set<consensus::MemberId>& but, consensus::Index within);

class Succession {
 public:
  // When two members have the whole log, the one with the higher priority leads.
  static Succession to_better(double own_priority);
  static Succession step_down(const StepDown& how, int64_t now_us);

  enum class Move {
    look_again,   // after a moment
    stop_writes,  // no client's write runs when `next` is called again, and none begins
    drain,        // wait until the log has all writes, until until_us() at most
    transfer,     // to successor()
    resign,       // this member is not electable for a while, and gives up the lead
    over          // see outcome()
  };
  enum class Outcome {
    led_on,          // nobody better has taken over
    succeeded,       // this member isn't primary any more
    none_caught_up,  // nobody could take over; this member leads on
    resigned
  };

  bool steps_down() const { return steps_down_; }
  Move next(const SuccessionView& view, int64_t now_us);
  // Returns true from the move stop_writes until `next` has taken it back.
  bool writes_stopped() const { return writes_stopped_; }
  consensus::MemberId successor() const { return successor_; }
  int64_t until_us() const { return until_us_; }
  Outcome outcome() const { return outcome_; }

 private:
  // The first five are an attempt to hand over; the others give up without a successor.
  enum class Phase { looking, stopped, draining, choosing, transferring, stopped_for_good, emptying, waiting, resigning };

  Succession(double above, bool steps_down, bool force, int64_t deadline_us)
      : above_(above), steps_down_(steps_down), force_(force), deadline_us_(deadline_us) {}
  Move look(const SuccessionView& view, int64_t now_us);
  Move choose(const SuccessionView& view, int64_t now_us);
  Move failed(const SuccessionView& view, int64_t now_us);
  Move give_up(const SuccessionView& view);
  Move wait_for_whole_log(const SuccessionView& view, int64_t now_us);
  Move end(Outcome outcome);

  const double above_;
  const bool steps_down_, force_;
  const int64_t deadline_us_;  // of a step-down
  Phase phase_ = Phase::looking;
  int64_t until_us_ = 0;  // of the attempt, or of what is waited for
  std::set<consensus::MemberId> refused_;
  consensus::MemberId successor_ = 0;
  bool writes_stopped_ = false;
  Outcome outcome_ = Outcome::led_on;
};

}  // namespace replication
