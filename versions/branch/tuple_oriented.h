// This is tuple-first with tuple-oriented bitmaps (Decibel §3.2): beside the states, which are as with branch-oriented bitmaps,
// each record has a row with a bit for each branch.
//
// One pass over the rows finds which records any number of branches show. Making a branch writes a bit into every row that it
// shows; for that reason no layout is this one by default.
#pragma once

#include "versions/branch/bitmap_store.h"

namespace versions {

class TupleOriented : public BitmapStore {
 public:
  explicit TupleOriented(StoreParts parts) : BitmapStore(std::move(parts), {"tuples"}) {}

  bool shows(Transaction& transaction, const View& view, RecordId record) override;
  std::unique_ptr<Scan> scan(Transaction& transaction, const View& view) override;
  std::unique_ptr<ManyScan> scan_many(Transaction& transaction, const std::vector<View>& views) override;
  void opened(Transaction& transaction, BranchId branch, State state) override;
  void closed(Transaction& transaction, const View& view) override;

 protected:
  void now_shown(Transaction& transaction, BranchId branch, RecordId record) override {
    set_bit(transaction, record, branch, true);
  }
  void now_hidden(Transaction& transaction, const View& view, BytesView, RecordId record) override {
    set_bit(transaction, record, view.branch, false);
  }
  void forgotten(Transaction& transaction, RecordId record) override {
    tuples().remove(transaction, storage::record_key(record));
  }

 private:
  const Table& tuples() const { return more_[1]; }
  void set_bit(Transaction& transaction, RecordId record, BranchId branch, bool shown);
};

}  // namespace versions
