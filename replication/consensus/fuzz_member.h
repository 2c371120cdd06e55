// Fuzz targets send any messages to one member's core, and look whether it keeps to what consensus may never break.
#pragma once

#include <deque>

#include "replication/consensus/message_fields.h"
#include "replication/consensus/raft_core.h"
#include "replication/consensus/test_support.h"

namespace replication::consensus {

// These are the states in which a member gets its first message. Its log has entries of two terms but for the first three.
enum class FuzzState {
  begun,      // one of three, with an empty log
  joining,    // waits for the place where the log begins
  alone,      // the only voter, which has no leader
  follower,   // a part of the entries is committed
  unwritten,  // follows; what it was sent isn't on disk
  compacted,  // follows; what is committed went from the log
  pre_candidate,
  candidate,
  leader,         // with entries of its own term; one follower has them
  far_ahead,      // leads; another member needs entries that went
  hands_over,     // leads until another member has all entries
  asked_to_read,  // leads; somebody's read waits
  changes,        // leads while one membership gives way to another
  arbiter,
  count
};

// FuzzMember ends the process where
// - a message that is refused changed anything,
// - the term or the commit index went back, or the latter went beyond the log,
// - entries were committed out of order, or what was committed isn't in the log any more,
// - a restart finds another log than was written,
// - no log can begin where a leader says that its own does.
class FuzzMember {
 public:
  explicit FuzzMember(FuzzState state);

  // All but the last: they vote; the last but one only once `changes` is over.
  static constexpr MemberId other = 2, third = 3, fourth = 4, stranger = 9;
  MemberId id() const { return id_; }
  const RaftCore& core() const { return *core_; }
  Index committed() const { return delivered_.empty() ? 0 : delivered_.back().index; }
  // The message is put behind fields that address it. `under_way` is what the transport would say.
  StepResult step(MemberId from, BytesView message, bool under_way = false);
  StepResult step_as_is(MemberId from, BytesView message, bool under_way = false);
  void tick(uint32_t count);
  void campaign();
  // Takes what the core decided, and keeps its messages. Writes wait for `write`.
  void take();
  void write();
  void compact();
  // Restarts the member once all is written.
  void restart();
  std::vector<Outgoing> sent;  // is kept where `keep_sent` is set
  bool keep_sent = false;

 private:
  void start(Index applied);
  void check_status();
  void check_begins(const Behind& behind) const;
  void begin(Position at, Membership members);
  void follow(Index last, bool all_committed);
  void elect();

  MemberId id_ = 1;
  MemoryLogDisk disk_;
  std::unique_ptr<LogStore> store_;
  std::unique_ptr<RaftCore> core_;
  std::deque<Write> writes_;
  std::vector<Position> delivered_;
  CoreStatus seen_;
};

}  // namespace replication::consensus
