// Reads version-first's stretches backwards: records, and the entries beside them, by id.
#pragma once

#include "versions/branch/version_first.h"

namespace versions {

// An entry is a tombstone, or names the record that counts instead.
struct Entry {
  RecordId adopted = 0;  // 0: the document was removed
  Bytes key;
};
Bytes write_entry(const Entry& entry);
Entry read_entry(BytesView bytes);  // throws DataCorruptionDetected

class SegmentWalk {
 public:
  // Takes segments with the offsets to begin at, in this order.
  SegmentWalk(RecordStore& records, Transaction& transaction, const Table& entries,
              std::vector<std::pair<Segment, uint32_t>> segments);

  bool next();
  RecordId id() const { return id_; }
  bool is_record() const { return is_record_; }
  BytesView content() { return records_.content(); }  // if it stands on a record
  const Entry& entry() const { return entry_; }       // else
  Bytes key();

 private:
  void begin_segment();
  void step_records();
  void step_entries(bool on);

  std::vector<std::pair<Segment, uint32_t>> segments_;
  size_t at_ = 0;
  storage::RecordCursor records_;
  TableCursor entries_;
  RecordId record_ = 0, beside_ = 0;  // where the two stand; 0: the segment has no more
  RecordId id_ = 0;
  bool begun_ = false, is_record_ = false;
  Entry entry_;
};

}  // namespace versions
