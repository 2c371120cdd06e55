// These scans walk over the records that a set names.
#pragma once

#include "storage/engine/interruptible_waits.h"
#include "versions/branch/branch_store.h"

namespace versions {

// Walks in the order of RecordIds. It steps over near gaps, and seeks over far ones. It can be interrupted (InterruptibleWaits).
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
  RecordId cursor_at_ = 0;  // 0: it stands nowhere yet
  storage::InterruptibleLoop loop_;
};

// Walks over many sets in one pass. It lays out the bits anew for a window of records at a time, so that each set's part is read
// once and in the set's own order.
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
  RecordId window_ = -1;        // the window's first record
  std::vector<uint64_t> bits_;  // one row for each record of the window
  std::vector<uint64_t> shown_;
};

}  // namespace versions
