// The Maplog of one table of rows holds every mapping, in the order of snapshots (Retro §4.5, Skippy §2).
//
//   start   snapshot                 -> where its mappings begin
//   open    snapshot, number, row    -> content            as writers leave them, each in its own transaction
//   node    level, index             -> SkippyNode         what was open, once nobody can add to it any more
//
// Each key begins with the log's own prefix, so several logs may share a table.
//
// Writers of one snapshot don't wait for each other, and commit in any order: a snapshot's mappings are open until every
// transaction that could make one is over. Then `seal` moves them, a full node at a time; that restores the order of the log
// (I_mapLog) whatever the order of commits was. Everything happens in the caller's transaction. Thread-safe; transactions are
// not.
#pragma once

#include <functional>

#include "base/lru.h"
#include "base/mutex.h"
#include "storage/engine/table.h"
#include "versions/past/page_table.h"
#include "versions/past/skippy.h"

namespace versions::past {

// Keeps decoded nodes of all logs, up to so many bytes. Thread-safe.
class SkippyCache {
 public:
  explicit SkippyCache(size_t bytes_max) : nodes_(bytes_max) {}
  SkippyNodePtr get(const base::Bytes& name);  // nullptr: the node isn't in the cache
  void put(const base::Bytes& name, const SkippyNodePtr& node);
  size_t bytes() const;
  void clear();

 private:
  mutable base::Mutex mutex_;
  base::Lru<base::Bytes, SkippyNodePtr> nodes_ GUARDED_BY(mutex_);
};

// The contents that all snapshots of a range need, from one pass (Skippy §4.5). Const calls are thread-safe.
class JointTable {
 public:
  // The content that the row had in a snapshot of the range.
  std::optional<Stamp> find(SnapshotId snapshot, RecordId row) const;
  // Returns the page table of one snapshot of the range.
  PageTable table(SnapshotId snapshot) const;
  size_t scanned() const { return scanned_; }  // how many mappings were looked at

 private:
  friend class Maplog;
  struct Version {
    RecordId row;
    SnapshotId last;  // the newest snapshot that shows the content
    Stamp content;
  };
  PageTable last_;                 // what the range's last snapshot shows
  std::vector<Version> versions_;  // contents that were replaced before it, by row and `last`
  PageTable groups_;               // row -> the place where its versions begin, plus one
  size_t scanned_ = 0;
};

class Maplog {
 public:
  // Options for a table of logs: nodes are packed already, and whoever makes a page table waits for all of them.
  static storage::TableOptions table_options();

  // `cache` must outlive the log.
  Maplog(storage::Table table, const SkippyOptions& options, SkippyCache& cache, base::Bytes prefix = {})
      : table_(std::move(table)), options_(options), cache_(cache), prefix_(std::move(prefix)) {}

  // `snapshot` is the newest one at the time of the write. `number` is the write's timestamp: no other write has it for that row.
  void append(storage::Transaction& transaction, SnapshotId snapshot, Stamp number, const Mapping& mapping) const;
  // The caller knows that no mapping for a snapshot below `below` will come any more. Moves as many of them as make full nodes,
  // and returns their number. One caller at a time seals; others get a WriteConflict.
  size_t seal(storage::Transaction& transaction, SnapshotId below) const;

  // A table of the rows that were written since the snapshot. `scanned` receives how many mappings were looked at.
  PageTable page_table(storage::Transaction& transaction, SnapshotId snapshot, size_t* scanned = nullptr) const;
  // Finds one row without a table: the scan stops at its first mapping.
  std::optional<Stamp> find(storage::Transaction& transaction, SnapshotId snapshot, RecordId row) const;
  // A table for all snapshots from `first` to `last`.
  JointTable joint_table(storage::Transaction& transaction, SnapshotId first, SnapshotId last) const;

  // A mapping, for a walk that goes on there in another transaction. Nothing must be sealed between the two.
  struct Place {
    std::optional<LogPosition> sealed;
    base::Bytes open;  // the key of an open mapping
  };
  // Visits each mapping that was made for a snapshot from `first` on and before `end`, in order, until `visit` returns false.
  // With `place`, the walk begins there if that says where, and leaves there the mapping at which `visit` returned false.
  void each(storage::Transaction& transaction, SnapshotId first, SnapshotId end,
            const std::function<bool(SnapshotId, const Mapping&)>& visit, Place* place = nullptr) const;

 private:
  friend class LogScan;
  class Nodes;
  LogPosition start(storage::Transaction& transaction, Nodes& nodes, SnapshotId snapshot) const;

  base::Bytes start_key(SnapshotId snapshot) const;
  base::Bytes open_key(SnapshotId snapshot, Stamp number, RecordId row = 0) const;
  base::Bytes node_key(unsigned level, uint64_t index) const;
  // The key behind the prefix if the cursor stands on a row of this kind; otherwise empty.
  base::BytesView key_of(const storage::TableCursor& cursor, char kind) const;
  struct Open {
    SnapshotId snapshot;
    Mapping mapping;
  };
  std::optional<Open> open_at(const storage::TableCursor& cursor) const;

  const storage::Table table_;
  const SkippyOptions options_;
  SkippyCache& cache_;
  const base::Bytes prefix_;
};

// Walks over mappings from a snapshot on, by way of the levels; the open ones come last. Not thread-safe; borrows the
// transaction.
class LogScan {
 public:
  // It leaves out open mappings of that snapshot with a number below `number`.
  LogScan(const Maplog& log, storage::Transaction& transaction, SnapshotId snapshot, Stamp number = 0);
  ~LogScan();
  // Some more mappings; empty at the end. Valid until the next call.
  MappingRun next();
  size_t scanned() const { return scanned_; }

 private:
  struct State;
  std::unique_ptr<State> state_;
  size_t scanned_ = 0;
};

// A page table of which little is wanted: its scan goes only as far as that needs (Skippy §4.2). Not thread-safe; borrows the
// transaction.
class OnDemandTable {
 public:
  OnDemandTable(const Maplog& log, storage::Transaction& transaction, SnapshotId snapshot) : scan_(log, transaction, snapshot) {}
  std::optional<Stamp> find(RecordId row);
  size_t scanned() const { return scan_.scanned(); }

 private:
  LogScan scan_;
  PageTable table_;
  bool ended_ = false;
};

}  // namespace versions::past
