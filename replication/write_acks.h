// WriteAcks knows who waits for the set to have a write, and answers them when it has.
//
// Most ask for the majority and are served in the order of the log, from one
// queue. The few who ask for a number of members, or for tags, are looked at
// whenever somebody's progress is known anew.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "replication/coordinator.h"

namespace replication {

// A MemberReached says how far a member with data has come.
struct MemberReached {
  const MemberConfig* member = nullptr;
  storage::Stamp upto = 0;       // has the log to here on disk
  storage::Stamp in_memory = 0;  // the same for this member, whose memory is ahead of its disk; else as `upto`
};

// Can a set with these members ever give this? Else why not.
std::optional<WriteConcernFailure> never_satisfied(const SetConfig& config, const WriteConcern& concern);

// This class is thread-safe. Callbacks run on the thread that brings the news, with no lock of this held.
class WriteAcks {
 public:
  using Done = std::function<void(std::optional<WriteConcernFailure>)>;

  // `now_us`: monotonic.
  void wait(OpTime optime, const WriteConcern& concern, int64_t now_us, Done done);
  // The majority has everything up to here. Goes up.
  void committed(storage::Stamp upto);
  // Does anybody wait for what `reached` would bring?
  bool counts_members() const;
  void reached(const SetConfig& config, const std::vector<MemberReached>& members);
  // Clients that wait now and still wait at `deadline_us` get `why`: this member may never learn whether the set commits their
  // writes.
  void give_up_at(int64_t deadline_us, const WriteConcernFailure& why);
  void expire(int64_t now_us);
  bool empty() const;  // nobody waits

 private:
  struct Waiter {
    WriteConcern concern;
    int64_t deadline_us;
    std::optional<WriteConcernFailure> given_up;  // nullopt: at the deadline the write has timed out
    Done done;
  };
  using Waiters = std::multimap<storage::Stamp, Waiter>;
  using Ready = std::vector<std::pair<Done, std::optional<WriteConcernFailure>>>;
  static void call(Ready& ready);

  mutable base::Mutex mutex_;
  storage::Stamp committed_ GUARDED_BY(mutex_) = 0;
  Waiters majority_ GUARDED_BY(mutex_);
  Waiters counting_ GUARDED_BY(mutex_);
};

}  // namespace replication
