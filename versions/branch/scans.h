// Walks over records that a set names.
#pragma once

#include "versions/branch/branch_store.h"

namespace versions {

// In the order of their ids. Steps over near gaps, seeks over far ones.
class SetScan : public Scan {
 public:
  SetScan(RecordStore& records, Transaction& transaction, std::shared_ptr<const RecordSet> set);

  bool next() override;
  RecordId record() const override { return record_; }
  BytesView content() override { return cursor_.content(); }

 private:
  bool stand_on(RecordId record);

  std::shared_ptr<const RecordSet> set_;
  std::map<Segment, Bitmap>::const_iterator part_;
  std::optional<Bitmap::const_iterator> at_, end_;
  storage::RecordCursor cursor_;
  RecordId record_ = 0;
  RecordId cursor_at_ = 0;  // 0: nowhere yet
};

// Many sets in one pass. Bits are laid out anew for a window of records at a time, so that what each set has in it is read
// once and in its own order.
class ManySetScan : public ManyScan {
 public:
  ManySetScan(RecordStore& records, Transaction& transaction, std::vector<std::shared_ptr<const RecordSet>> sets);

  bool next() override;
  RecordId record() const override { return scan_.record(); }
  BytesView content() override { return scan_.content(); }
  const std::vector<uint64_t>& shown_in() const override { return shown_; }

 private:
  static constexpr uint32_t window_records = 4096;
  void open_window(RecordId record);

  std::vector<std::shared_ptr<const RecordSet>> sets_;
  SetScan scan_;
  RecordId window_ = -1;        // its first record
  std::vector<uint64_t> bits_;  // of the window, a row a record
  std::vector<uint64_t> shown_;
};

}  // namespace versions
