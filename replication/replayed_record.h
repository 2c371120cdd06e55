// A record of another member's log that changes the schema or branches, while this member replays it.
#pragma once

#include "replication/log_record.h"
#include "replication/oplog.h"
#include "storage/collections/replayed_change.h"

namespace replication {

// Appends the record's entries, as they are, in the transactions of the changes; entries of documents go with the command behind
// them. The record's entries must be whole, and it must outlive this. Thread-safe as the oplog is.
class ReplayedRecord final : public storage::ReplayedChange {
 public:
  ReplayedRecord(Oplog& oplog, const LogRecord& record) : oplog_(oplog), record_(record) {}

  void append(storage::Transaction& transaction, std::string_view db, BytesView uuid, bson::DocumentView command) const override;
  // Throws DataCorruptionDetected if an entry wasn't appended: the change that it describes changed nothing here.
  void require_all() const;

 private:
  Oplog& oplog_;
  const LogRecord& record_;
};

}  // namespace replication
