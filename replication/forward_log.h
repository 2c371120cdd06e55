// Contents in the set's log as deltas (dbDedup §4.1.1): of the document's own last
// version where it is replaced, of what resembles it where it is new.
//
//   primary    record of the log, whole --encode--> the same, with deltas where that is worth it
//   members    delta --content--> the content, checked, before it is applied
//
// Rule: a base stands in a record as of the entry before. It is named by its own
// entry's timestamp and its _id, for record ids differ between members. So every
// member has it when the entry's turn comes. One that goes through the log again,
// and had later entries already, finds it in the oplog's row, which has taken it in.
//
// On branches: a document may be of any branch, or of a commit. What a merge says of
// its documents is no base, for other writes made what it shows; and behind a
// command that takes records away there is none.
#pragma once

#include "base/counters.h"
#include "base/mutex.h"
#include "replication/log_sources.h"
#include "replication/oplog.h"

namespace replication {

// All count since the start.
struct ForwardFigures {
  // A primary counts these.
  base::Counter records, record_bytes, forward_bytes;  // bodies before and after
  base::Counter sent_bytes;                            // as proposed: the large ones compressed
  base::Counter contents, content_bytes;               // in inserts and replacements
  base::Counter deltas, delta_content_bytes, delta_bytes;
  base::Counter same_document, similar;    // where the bases were found
  base::Counter small, unlike, not_worth;  // why a content went whole
  // Other members count these.
  base::Counter decoded, decoded_bytes, from_recent, from_records, from_oplog;
};

// Thread-safe: on a primary one thread encodes, on another member one applies.
class ForwardLog {
 public:
  static constexpr size_t recent_bytes_max = 32 << 20;

  explicit ForwardLog(Oplog& oplog) : oplog_(oplog), sources_(recent_bytes_max) {}

  std::atomic<bool> enabled = true;  // as primary

  // From here on this member proposes, with what it has applied as bases.
  void lead();
  // Is called in the order of the log, exactly once for each record. The result stands in for the record.
  LogRecord encode(const LogRecord& record);

  // The BSON of an entry that is a delta, before it is applied. Reads within `transaction`, which has everything applied that
  // lies before. Throws DataCorruptionDetected where the base isn't here, is another, or makes something else of the delta.
  Bytes content(storage::Transaction& transaction, storage::Collection& target, const LogRecord::Item& item);
  // The record, its entries whole, was applied here, or this one entry of it.
  void applied(const LogRecord& record);
  void applied(storage::Stamp stamp, const Entry& entry);
  // Entries went by that were not looked at.
  void skipped();

  ForwardFigures& figures() { return figures_; }
  // Appends the fields of serverStatus().forwardLog.
  void append_status(bson::Builder& out) const;

 private:
  std::optional<Entry> delta_of(storage::Stamp stamp, const Entry& entry, bson::Document& base_id, Bytes& instructions,
                                dedup::Features& features) REQUIRES(mutex_);
  void pass(storage::Stamp stamp, const Entry& entry, const dedup::Features* features) REQUIRES(mutex_);
  std::optional<Bytes> base_in_oplog(storage::Transaction& transaction, storage::Collection& target, storage::Stamp base);

  Oplog& oplog_;
  base::Mutex mutex_;
  LogSources sources_ GUARDED_BY(mutex_);
  ForwardFigures figures_;
};

}  // namespace replication
