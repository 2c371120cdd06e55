// Version-first's stretches read backwards: records and the entries beside them, by id.
#pragma once

#include "versions/branch/version_first.h"

namespace versions {

// What an entry says: a tombstone, or the record that counts instead.
struct Entry {
  RecordId adopted = 0;  // 0: removed
  Bytes key;
};
Bytes write_entry(const Entry& entry);
Entry read_entry(BytesView bytes);  // throws DataCorruptionDetected

class SegmentWalk {
 public:
  // Segments with the offset to begin at, in this order.
  SegmentWalk(RecordStore& records, Transaction& transaction, const Table& entries,
              std::vector<std::pair<Segment, uint32_t>> segments);

  bool next();
  RecordId id() const { return id_; }
  bool is_record() const { return is_record_; }
  BytesView content() { return records_.content(); }  // of a record
  const Entry& entry() const { return entry_; }       // of anything else
  Bytes key();

 private:
  void begin_segment();
  void step_records();
  void step_entries(bool on);

  std::vector<std::pair<Segment, uint32_t>> segments_;
  size_t at_ = 0;
  storage::RecordCursor records_;
  TableCursor entries_;
  RecordId record_ = 0, beside_ = 0;  // where the two stand; 0: no more in this segment
  RecordId id_ = 0;
  bool begun_ = false, is_record_ = false;
  Entry entry_;
};

}  // namespace versions
