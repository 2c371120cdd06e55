// The core is one member's part in consensus: events go in, decisions come out.
// It is pure: it has no clock, no threads and no I/O, and makes the same
// decisions from the same events.
//
//   tick · step · propose · applied · written      (what happened)
//                    |
//              take_output()                        (what to do about it)
//                    |
//   send now · write, then send · hand to the state machine · report
//
// The owner has to keep this order: messages in `send` may go at once; a
// `write` is made durable, writes in their order, before its `after` is sent
// and before `written` is called. A leader's entries travel while its own disk
// is still at work (Ongaro's thesis, 10.2.1); a follower's word is given only
// after.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "replication/consensus/log_store.h"

struct RaftNodeHandle;

namespace replication::consensus {

enum class Role { follower = 0, candidate = 1, leader = 2, pre_candidate = 3 };

// A Candidacy says how a member stands for election. An arbiter never does.
struct Candidacy {
  enum class When : uint8_t {
    as_ranked,
    // The member stands when there has been no leader for several election timeouts, because nobody else has the end of its log,
    // or can get the votes. It leads until another has it (`transfer`), and isn't handed a lead itself.
    last,
    never
  };
  When when = When::as_ranked;
  uint32_t rank = 0;  // 0 to 3: 0 stands first when a leader is silent. A leader hands over to a better one by `transfer`
  bool electable() const { return when == When::as_ranked; }
};

struct CoreOptions {
  MemberId id = 0;
  uint32_t election_ticks = 16;  // a leader silent for this long is given up; elections within one to two of these
  uint32_t heartbeat_ticks = 2;
  uint64_t message_bytes_max = 64 << 10;
  uint64_t inflight_messages_max = 256;
  // Bytes of entries under way to one member: the ends between which they follow what its line carries, and where they begin.
  uint64_t flight_bytes_min = 64 << 10;
  uint64_t flight_bytes_first = 256 << 10;
  uint64_t flight_bytes_max = 32 << 20;
  uint64_t uncommitted_bytes_max = 128 << 20;
  uint64_t committed_bytes_max = 16 << 20;
  Candidacy candidacy = {};
  uint64_t seed = 1;  // of the jitter between elections: different on each member
  Index applied = 0;  // the state machine has everything up to here
};

struct Outgoing {
  MemberId to = 0;
  bool bulk = false;  // carries entries: may take its time, where heartbeats may not
  Bytes bytes;
};

struct Write {
  uint64_t number = 0;
  LogBatch batch;
  bool needed = true;  // false: nothing for the disk; only `after` waits for the writes before
  std::vector<Outgoing> after;
};

struct Standing {
  Role role = Role::follower;
  Term term = 0;
  MemberId leader = 0;  // 0: unknown
  bool operator==(const Standing&) const = default;
};

// Entries that this member appended as a leader and that were not committed when it ceased to be one. Each is later
// either committed after all, in its position, or replaced.
struct Unclear {
  Index from = 0;  // both inclusive
  Index to = 0;
  Term term = 0;
};

struct ReadState {
  Index index = 0;  // a read may run once everything up to here is applied
  Bytes context;
};

// The log this member needs begins where nobody's log begins any more: it needs a copy of another's data, taken at
// `log_begins` or later (an arbiter: only `start_log` there).
struct Behind {
  MemberId leader = 0;
  Position log_begins;
  Membership members;
};

struct Output {
  std::vector<Outgoing> send;
  std::optional<Write> write;
  std::vector<EntryPtr> committed;  // in order, each index once; to be answered by `applied`
  std::vector<ReadState> reads;
  std::optional<Standing> standing;  // where it changed
  std::optional<Unclear> unclear;
  std::optional<Index> replaced_from;  // entries from here on were replaced by another leader's
  std::optional<Membership> members;   // where it changed
  std::optional<Behind> behind;
};

struct CoreStatus {
  Standing standing;
  Index commit = 0;
  Index applied = 0;
  Index last = 0;
  uint64_t uncommitted_bytes = 0;
  bool may_read = false;  // a leader that has committed in its term
  bool members_changing = false;
  MemberId transferring_to = 0;
};

struct PeerProgress {
  MemberId id = 0;
  Index matched = 0;  // durable there, as far as is known
  Index next = 0;
  bool recently_active = false;
  bool behind = false;          // needs a copy
  uint64_t flight_bytes = 0;    // of entries sent, neither acknowledged nor known to be lost
  uint64_t window_bytes = 0;    // how much that may be
  uint64_t resent_entries = 0;  // in this term
};

enum class StepResult { ok, bad_message, behind, lost_log, unknown_peer };

// Not thread-safe: one thread at a time. A broken invariant ends the process.
class RaftCore {
 public:
  // The store is initialized and outlives it. Throws OperationError: BadValue, DataCorruptionDetected.
  RaftCore(const CoreOptions& options, LogStore& store);
  ~RaftCore();
  RaftCore(const RaftCore&) = delete;
  RaftCore& operator=(const RaftCore&) = delete;

  void tick();
  // Any bytes may come in. lost_log: this member's disk has forgotten what it once promised; it must not go on.
  // `under_way`: as Transport's, to that member; asked within the call, where it matters.
  StepResult step(
      MemberId from, BytesView message, const std::function<bool()>& under_way = [] { return false; });

  // nullopt: not the leader, leadership is being handed over, or too many uncommitted bytes.
  std::optional<Position> propose(BytesView data, BytesView context = {});
  // Several changes pass through a joint membership that is left by itself. nullopt: as above, or another change is
  // under way.
  std::optional<Position> propose_members(const std::vector<MemberChange>& changes, BytesView context = {});
  // Answered by a ReadState once a majority has confirmed that this member still leads. False: it can't now. An
  // answer may be lost with a message: ask again after a while, with the same context.
  bool read_index(BytesView context);
  // The target must be electable; it takes over when it has the whole log, or not at all within an election timeout.
  bool transfer(MemberId to);
  void campaign();
  void resign();  // a leader ceases to be one; whoever should not be elected again is made not electable before
  void report_unreachable(MemberId id);
  void set_candidacy(Candidacy candidacy);
  bool electable() const { return candidacy_.electable(); }

  void applied(Index index);
  void written(uint64_t write);
  // Entries up to `index`, which are applied, may go from the log.
  void compact(Index index);

  bool has_output() const;
  Output take_output();

  CoreStatus status() const;
  std::vector<PeerProgress> progress() const;  // of a leader
  const LogStore& store() const { return store_; }

 private:
  struct Ready;
  void apply_members(const LogEntry& entry, Output& out);
  void hold_for_arbiters(std::vector<Outgoing>& messages, const std::vector<Index>& last_indexes);
  void release_to_arbiters(std::vector<Outgoing>& out);
  Index arbiter_limit() const;
  void note_standing(Output& out);

  const CoreOptions options_;
  LogStore& store_;
  RaftNodeHandle* node_ = nullptr;
  Standing standing_;
  Candidacy own(Candidacy candidacy) const;
  Candidacy candidacy_;
  Index applied_floor_ = 0;  // the state machine has these already
  Index delivered_ = 0;
  uint64_t writes_ = 0;  // numbered by us: a compaction is one too
  uint64_t writes_done_ = 0;
  std::map<uint64_t, uint64_t> ready_of_write_;
  bool compacted_ = false;  // since the last write
  std::optional<Behind> behind_;

  struct Held {
    Index last = 0;
    Bytes bytes;
  };
  std::map<MemberId, std::deque<Held>> held_;
  std::map<MemberId, uint32_t> snapshot_ticks_;
};

// The library's lines go to the log (component REPL), and so do its last ones, before the process ends.
void route_library_log();

}  // namespace replication::consensus
