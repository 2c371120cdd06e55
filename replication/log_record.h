// A log record is what members agree on at one place of the set's log: a transaction,
// as its oplog entries with their contents, each under its timestamp. A large transaction takes several records, its parts, at
// places one behind the other.
//
//   record   | form, 1 | body |
//            form 1, plain        body as it is
//            form 2, compressed   bytes of the body (varint), then a zstd frame of it
//            form + 16: the transaction goes on in the next record
//   body     | first timestamp | entries | { bytes, entry (entry.h) } … |      numbers are varints
//
// An entry's timestamp is the first one plus what the entry says it lies behind it.
// A content is whole, or a delta of another one (forward_log.h).
#pragma once

#include <memory>
#include <vector>

#include "replication/entry.h"

namespace replication {

inline constexpr size_t log_record_bytes_max = 256 << 20;  // of the body
// A record of a client's transaction ends after the entry with which it has so many bytes, and one of a merge after so many.
// Other writes are in smaller transactions.
inline constexpr size_t log_part_bytes = 8 << 20, log_merge_part_bytes = 32 << 20;

struct LogRecord {
  struct Item {
    storage::Stamp stamp = 0;
    Entry entry;  // views into `body`
  };
  std::vector<Item> entries;                                // at least one, their timestamps going up
  bool goes_on = false;                                     // it is a part of a transaction, and not the last
  std::shared_ptr<const Bytes> body;                        // what they were read from
  std::vector<std::shared_ptr<const Bytes>> bodies_before;  // the same of the parts that were put together with it

  storage::Stamp first() const { return entries.front().stamp; }
  storage::Stamp last() const { return entries.back().stamp; }
  // Commands, each behind the documents that it changed.
  bool changes_schema() const { return entries.back().entry.op == 'c'; }
};

// Collects the entries of one transaction.
class LogRecordBuilder {
 public:
  // `entry` is whole or a delta. The entries of one transaction are added in the order of their timestamps.
  void add(storage::Stamp stamp, const Entry& entry);
  bool empty() const { return count_ == 0; }
  size_t bytes() const { return entries_.size(); }
  // `goes_on`: more of the transaction follows.
  LogRecord done(bool goes_on = false);

 private:
  storage::Stamp first_ = 0;  // of its transaction
  uint64_t count_ = 0;
  Bytes entries_;
  Bytes scratch_;
};

// Compressed where it is larger than `compress_from` bytes and gets smaller by it. Smaller ones are better left to the
// connection they go over, which knows those before them.
Bytes encode(const LogRecord& record, size_t compress_from = 1 << 20);
// Fails with DataCorruptionDetected.
base::Result<LogRecord> decode_record(BytesView bytes);

// Puts the parts of a transaction together.
LogRecord join(std::vector<LogRecord> parts);

// The newest timestamp of a record travels beside its data in the log. A part of a transaction that goes on has none.
Bytes stamp_context(storage::Stamp stamp);
storage::Stamp stamp_of_context(BytesView context);  // 0: none

}  // namespace replication
