// A log disk is where a member's log survives: the smallest thing consensus asks of a disk.
#pragma once

#include "replication/consensus/types.h"

namespace replication::consensus {

// The disk keeps this beside the entries, and writes it whole with every batch.
struct LogMeta {
  HardState hard;
  Membership members;
  Index members_through = 0;  // no entry after members.index up to here changes the membership
  Position compacted;         // the entry before the first one
  bool operator==(const LogMeta&) const = default;
};

// Entries from `first` to the next run's first are of this term.
struct TermRun {
  Index first = 0;
  Term term = 0;
  bool operator==(const TermRun&) const = default;
};

struct LogImage {
  LogMeta meta;
  std::vector<TermRun> runs;  // of what is behind meta.compacted
  Index last = 0;
};

struct LogBatch {
  LogMeta meta;
  std::vector<EntryPtr> entries;  // contiguous; rows from the first one on are replaced. Empty: the meta alone
  bool start_over = false;        // every row goes; the log then begins behind meta.compacted
  bool follows = false;           // another member leads: what the entries say isn't in this one's data yet
};

// `read` and `write` may run at the same time, each on one thread. Both throw OperationError: DataCorruptionDetected
// for a row whose checksum is wrong or that is missing, naming it. `write` throws OutOfDiskSpace if there is no room.
class LogDisk {
 public:
  virtual ~LogDisk() = default;

  // nullopt: nothing was ever written here.
  virtual std::optional<LogImage> load() = 0;
  // Writes each batch as a whole or not at all, in their order; they are durable when the call returns. Rows up to each batch's
  // meta.compacted go.
  void write(const std::vector<LogBatch>& batches) {
    size_t done = 0;
    write_on(batches, done);
  }
  // Does the same for those from `done` on, and adds those that were written to it, also if it throws. These are durable when a
  // later call returns.
  virtual void write_on(const std::vector<LogBatch>& batches, size_t& done) = 0;
  // Returns the entries of [low, high): at least one, then as many as stay under `bytes_max`.
  virtual std::vector<EntryPtr> read(Index low, Index high, uint64_t bytes_max) = 0;
};

}  // namespace replication::consensus
