// The consensus library (crate raft, a port of etcd's) as C.
//
// A node is a pure state machine: no clock, no threads, no I/O. One thread owns
// it. What it wants done comes out of raft_ready; what happened goes in through
// the other calls. Whatever breaks one of its invariants ends the process, after
// a line to the function given to raft_set_log.
//
// Pointers handed over live for the call alone, in both directions.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RaftNodeHandle RaftNodeHandle;

typedef struct {
  const uint8_t* data;
  size_t size;
} RaftBytes;

typedef struct {
  uint64_t index;
  uint64_t term;
  uint32_t type;  // 0: data, 1: membership (one change), 2: membership
  RaftBytes data;
  RaftBytes context;
} RaftEntry;

typedef struct {
  uint64_t term;
  uint64_t vote;  // 0: none
  uint64_t commit;
} RaftHardState;

typedef struct {
  const uint64_t* ids;
  size_t count;
} RaftIds;

typedef struct {
  RaftIds voters;
  RaftIds learners;
  RaftIds voters_outgoing;  // not empty: a joint configuration
  RaftIds learners_next;
  bool auto_leave;
} RaftConfState;

// The log, as the node reads it. Entries handed out by raft_ready must be readable when that returns.
typedef struct {
  void* self;
  void (*hard_state)(void* self, RaftHardState* out);
  void (*conf_state)(void* self, RaftConfState* out);  // valid until the next call
  uint64_t (*conf_index)(void* self);                  // of the entry that made it
  uint64_t (*first_index)(void* self);
  uint64_t (*last_index)(void* self);
  // From first_index - 1 to last_index. 0: found, 1: compacted, 2: not there yet.
  int (*term)(void* self, uint64_t index, uint64_t* out);
  // [low, high), at least one, then up to bytes_max. Results as of `term`.
  int (*entries)(void* self, uint64_t low, uint64_t high, uint64_t bytes_max, void* sink,
                 void (*push)(void* sink, const RaftEntry* entry));
} RaftStorage;

typedef struct {
  uint64_t id;
  uint64_t applied;         // entries up to here are not handed out again
  uint32_t election_ticks;  // until a silent leader is given up; elections come within one to two of these
  uint32_t heartbeat_ticks;
  uint64_t message_bytes_max;
  uint64_t inflight_messages_max;
  uint64_t uncommitted_bytes_max;  // proposals beyond are refused
  uint64_t committed_bytes_max;    // in one raft_ready
  uint32_t rank;                   // 0 to 3: 0 is the first to stand when a leader is silent, 3 waits longest
  uint64_t seed;                   // of the jitter between elections
  bool electable;                  // false: never stands for election
  // Bytes of entries under way to one member: at first, and the ends between which that follows what the line carries.
  uint64_t flight_bytes_min;
  uint64_t flight_bytes_first;
  uint64_t flight_bytes_max;
  uint64_t without_data;  // members whose id has this bit are sent entries without their data
} RaftConfig;

typedef struct {
  void* self;
  // `after_persist`: not before everything this raft_ready handed out is on disk. `last_index`: of its entries, or
  // 0. `type`: as RAFT_MSG_* below.
  void (*message)(void* self, uint64_t to, uint32_t type, uint64_t last_index, bool after_persist, RaftBytes bytes);
  void (*hard_state)(void* self, const RaftHardState* state, bool must_sync);
  void (*append)(void* self, const RaftEntry* entry);  // contiguous; everything from the first one on is replaced
  void (*committed)(void* self, const RaftEntry* entry);
  void (*read_state)(void* self, uint64_t index, RaftBytes context);
} RaftSink;

enum { RAFT_FOLLOWER = 0, RAFT_CANDIDATE = 1, RAFT_LEADER = 2, RAFT_PRE_CANDIDATE = 3 };
enum {
  RAFT_MSG_APPEND = 3,
  RAFT_MSG_APPEND_RESPONSE = 4,
  RAFT_MSG_SNAPSHOT = 7,
  RAFT_MSG_HEARTBEAT = 8,
  RAFT_MSG_HEARTBEAT_RESPONSE = 9,
  RAFT_MSG_TIMEOUT_NOW = 14,
  RAFT_MSG_PRE_VOTE = 17,
  RAFT_MSG_PRE_VOTE_RESPONSE = 18,
};

typedef struct {
  uint64_t term;
  uint64_t vote;
  uint64_t commit;
  uint64_t applied;
  uint64_t leader;  // 0: unknown
  uint64_t transferring_to;
  uint64_t last_index;
  uint64_t uncommitted_bytes;
  uint32_t role;
  bool committed_in_term;  // a leader may answer reads
  bool conf_pending;       // a membership change is under way
} RaftStatus;

typedef struct {
  uint64_t id;
  uint64_t matched;
  uint64_t next;
  bool recently_active;
  bool receiving_snapshot;
  uint64_t flight_bytes;    // sent, neither acknowledged nor known to be lost
  uint64_t window_bytes;    // how much that may be
  uint64_t resent_entries;  // in this term
} RaftProgress;

enum {
  RAFT_OK = 0,
  RAFT_DROPPED = 1,  // not the leader, a transfer under way, or too many uncommitted bytes
  RAFT_BAD_MESSAGE = 2,
  RAFT_BEHIND = 3,    // a snapshot for a log that ends before it begins; `index` and `term` tell where
  RAFT_LOST_LOG = 4,  // the leader knows of entries this member once had and has no more
  RAFT_UNKNOWN_PEER = 5,
};

// Levels: 0 fatal, 1 error, 2 warning, 3 information. Process-wide.
void raft_set_log(void (*log)(uint32_t level, RaftBytes message));

// NULL: the configuration isn't sound (a line in the log says why).
RaftNodeHandle* raft_new(const RaftConfig* config, const RaftStorage* storage);
void raft_free(RaftNodeHandle* node);

void raft_tick(RaftNodeHandle* node);
// Checks the message before the library sees it: anything a peer may send comes back as one of the results above.
// `under_way`, asked where it matters: are entries sent to that peer known not to have arrived yet, and would the loss of one be
// reported?
int raft_step(RaftNodeHandle* node, uint64_t from, RaftBytes message, void* self, bool (*under_way)(void* self), uint64_t* index,
              uint64_t* term);
int raft_propose(RaftNodeHandle* node, RaftBytes data, RaftBytes context, uint64_t* index, uint64_t* term);
// types: 0 add voter, 1 remove, 2 add learner. More than one: through a joint configuration, left by itself.
int raft_propose_members(RaftNodeHandle* node, const uint32_t* types, const uint64_t* ids, size_t count, RaftBytes context,
                         uint64_t* index, uint64_t* term);
// For every committed entry of type 1 and 2, in order. `told` gets the configuration. RAFT_BAD_MESSAGE: doesn't decode
// or doesn't fit the configuration.
int raft_apply_members(RaftNodeHandle* node, uint32_t type, RaftBytes data, void* self,
                       void (*told)(void* self, const RaftConfState* state));
void raft_applied(RaftNodeHandle* node, uint64_t index);
void raft_read_index(RaftNodeHandle* node, RaftBytes context);
void raft_transfer(RaftNodeHandle* node, uint64_t to);
void raft_campaign(RaftNodeHandle* node);
void raft_report_unreachable(RaftNodeHandle* node, uint64_t id);
void raft_report_snapshot_failed(RaftNodeHandle* node, uint64_t id);
void raft_set_electable(RaftNodeHandle* node, bool electable, uint32_t rank);
// A leader ceases to be one, in its term, without a successor.
void raft_resign(RaftNodeHandle* node);

bool raft_has_ready(RaftNodeHandle* node);
// The ready's number, for raft_persisted. Nothing else is called on the node from within the sink.
uint64_t raft_ready(RaftNodeHandle* node, const RaftSink* sink);
void raft_persisted(RaftNodeHandle* node, uint64_t number);  // this one and all before

void raft_status(RaftNodeHandle* node, RaftStatus* out);
void raft_progress(RaftNodeHandle* node, void* self, void (*each)(void* self, const RaftProgress* progress));  // of a leader

// What a RAFT_MSG_SNAPSHOT describes: nothing is called for another message or a damaged one.
void raft_read_snapshot(RaftBytes message, void* self,
                        void (*out)(void* self, uint64_t index, uint64_t term, uint64_t conf_index, const RaftConfState* conf));

// A message's entries beyond `index_max` taken away, and the data of the rest: what an arbiter gets.
void raft_strip_append(RaftBytes message, uint64_t index_max, void* self, void (*out)(void* self, RaftBytes stripped));

#ifdef __cplusplus
}
#endif
