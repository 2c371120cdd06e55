// The Applier makes the changes of the set's log on this member: data, indexes,
// the oplog's row and the sessions' records, as the member had them that made
// them first.
//
//   record of data      insert, update, delete, no-op      several records share a storage transaction
//   record of a schema  commands                           the catalog's own transaction, rows included
//
// Every change has its entry's timestamp, and the row with that timestamp is written
// in the change's transaction: so what is here already is known, and passed over.
#pragma once

#include <deque>
#include <vector>

#include "base/counters.h"
#include "replication/committer.h"
#include "replication/forward_log.h"
#include "replication/log_record.h"
#include "replication/session_store.h"

namespace storage {
class Store;
}

namespace replication {

// Entries that other members made first, by what they do.
struct AppliedCounts {
  base::Counter inserts, updates, removes, commands;
};

// Used by one thread at a time. Partial indexes need the catalog's predicate compiler.
class Applier {
 public:
  Applier(storage::Store& store, Oplog& oplog, LocalCommitter& committer, SessionStore& sessions);

  // Applies them in their order, which is the log's. An exception means that this member isn't as the others are, or can't go on:
  // it must stop. The message names entry, namespace and _id; records before the failing one may have been applied. After
  // OutOfDiskSpace the same records may be given again: those that were applied are passed over.
  // A transaction of several records is applied with the last of them; until then they are kept in memory.
  void apply(const std::vector<LogRecord>& records);
  // The member that wrote the newest records lost its lead before the end of its transaction: they are forgotten. Returns the
  // newest timestamp in them; 0: there were none.
  storage::Stamp drop_parts();

  ForwardLog& forward() { return forward_; }
  const AppliedCounts& counts() const { return counts_; }  // from any thread

 private:
  class Batch;
  std::vector<LogRecord> whole_transactions(const std::vector<LogRecord>& records);
  void apply_whole(const std::vector<LogRecord>& records);
  bool passed(const LogRecord& record);
  void pass_over(const LogRecord& record);
  void apply_schema(const LogRecord& record);
  LogRecord with_contents(const LogRecord& record, std::deque<Bytes>& contents);
  void count(const LogRecord& record);

  storage::Store& store_;
  Oplog& oplog_;
  LocalCommitter& committer_;
  SessionStore& sessions_;
  ForwardLog forward_;
  std::vector<LogRecord> parts_;  // of a transaction whose end hasn't come yet
  AppliedCounts counts_;
};

}  // namespace replication
