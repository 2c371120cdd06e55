// Reads the log as other members need it: whole transactions, with the contents
// that its rows only name.
#pragma once

#include <memory>
#include <vector>

#include "replication/log_record.h"
#include "replication/named_contents.h"
#include "replication/oplog.h"

namespace storage {
class Store;
}

namespace replication {

// This class is not thread-safe.
class LogReader {
 public:
  LogReader(storage::Store& store, Oplog& oplog)
      : store_(store), oplog_(oplog), contents_(store, [&oplog](storage::Stamp stamp) { return oplog.row(stamp); }) {}

  // Returns the transactions whose timestamps are in [from, below), oldest first, up to `bytes_max`. Both ends lie between
  // transactions; `below` is no more than Engine::all_committed. Throws DataCorruptionDetected for a damaged row or a content
  // that is missing.
  std::vector<LogRecord> read(storage::Stamp from, storage::Stamp below, size_t bytes_max);

 private:
  void add(storage::Transaction& transaction, storage::Stamp stamp, const Entry& entry, LogRecordBuilder& builder);

  storage::Store& store_;
  Oplog& oplog_;
  NamedContents contents_;
};

}  // namespace replication
