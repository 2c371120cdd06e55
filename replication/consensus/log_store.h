// A member's log as consensus sees it: what is on disk, and what is on its way.
//
//   compacted | on disk                       | written, not yet synced |
//             |          | the newest, cached                           |
//             first                                                     last
//
// Entries are readable from the moment they are appended; the owner writes the
// batches it is handed, in order, and tells when each is durable. What isn't yet
// stays in memory. Terms are known for all of the log from a few runs.
#pragma once

#include <deque>

#include "replication/consensus/log_disk.h"

namespace replication::consensus {

enum class Lookup { found, compacted, unavailable };

// Not thread-safe: belongs to whoever owns the node.
class LogStore {
 public:
  // Throws OperationError: DataCorruptionDetected.
  explicit LogStore(LogDisk& disk, uint64_t cache_bytes_max = 64 << 20);

  bool initialized() const { return initialized_; }
  const LogMeta& meta() const { return meta_; }
  Index first() const { return meta_.compacted.index + 1; }
  Index last() const { return last_; }
  Lookup term(Index index, Term& out) const;
  // Does what LogDisk::read does, out of memory where possible. Cached entries are shared, not copied.
  Lookup entries(Index low, Index high, uint64_t bytes_max, std::vector<EntryPtr>& out);
  EntryPtr cached(Index index) const;  // nullptr: not in memory

  // Replaces everything from the first entry's index on. `write`: the number under which `written` will report it.
  void append(uint64_t write, const std::vector<EntryPtr>& entries);
  void written(uint64_t write);  // this one and those before are durable
  void set_hard_state(const HardState& state) { meta_.hard = state; }
  void set_members(Membership members) { meta_.members = std::move(members); }
  void set_members_through(Index index);
  // Entries up to `index` are no longer needed. False: nothing to do.
  bool compact(Index index);

 private:
  void evict();

  LogDisk& disk_;
  const uint64_t cache_bytes_max_;
  bool initialized_ = false;
  LogMeta meta_;
  std::vector<TermRun> runs_;
  Index last_ = 0;
  std::deque<EntryPtr> cache_;  // the newest, contiguous, up to last_
  uint64_t cache_bytes_ = 0;
  struct Pending {
    uint64_t write;
    Index first;
  };
  std::deque<Pending> pending_;
};

// Begins the log of a member that starts a set, or that has copied another's data as of `at`. An existing log's term
// and vote are kept, its entries go. Returns once that is durable.
void start_log(LogDisk& disk, Position at, const Membership& members);

// The log that came with a copy of another member's data, before anything is made of it: entries, membership and commit
// stay as copied, term and vote are this member's own. A vote is of its term: one of an older term than the copy's is none.
// Returns once that is durable; again with the same is no harm. Throws DataCorruptionDetected where there is no log.
void adopt_copied_log(LogDisk& disk, Term own_term, MemberId own_vote);

}  // namespace replication::consensus
