#include "versions/branch/tuple_oriented.h"

#include <algorithm>

#include "storage/engine/interruptible_waits.h"

namespace versions {

namespace {

bool bit(BytesView row, BranchId branch) {
  const auto at = static_cast<uint32_t>(branch);
  return at / 8 < row.size() && (row[at / 8] >> (at % 8) & 1);
}

// Walks over the rows in the order of their ids, and beside them over the records that one of the branches shows.
class TupleScan : public ManyScan {
 public:
  TupleScan(RecordStore& records, Transaction& transaction, const Table& tuples, const std::vector<View>& views)
      : rows_(tuples.cursor(transaction)), cursor_(records.cursor(transaction)), shown_((views.size() + 63) / 64) {
    for (const View& view : views) branches_.push_back(view.branch);
  }

  bool next() override {
    for (storage::InterruptibleLoop loop; rows_.next(); loop.pass()) {
      const BytesView row = rows_.value();
      std::fill(shown_.begin(), shown_.end(), 0);
      bool any = false;
      for (size_t i = 0; i < branches_.size(); ++i) {
        if (!bit(row, branches_[i])) continue;
        shown_[i / 64] |= uint64_t{1} << (i % 64);
        any = true;
      }
      if (!any) continue;
      record_ = storage::record_from_key(rows_.key());
      stand_on_record();
      return true;
    }
    return false;
  }
  RecordId record() const override { return record_; }
  BytesView content() override { return cursor_.content(); }
  const std::vector<uint64_t>& shown_in() const override { return shown_; }

 private:
  void stand_on_record() {
    constexpr RecordId near = 8;
    if (at_ == 0 || record_ - at_ > near) {
      cursor_.seek_after(record_ - 1);
      at_ = 0;
    }
    while (at_ < record_) {
      if (!cursor_.next())
        throw base::OperationError(base::ErrorCode::data_corruption_detected,
                                   "record " + std::to_string(record_) + " of a branch is missing");
      at_ = cursor_.id();
    }
  }

  std::vector<BranchId> branches_;
  TableCursor rows_;
  storage::RecordCursor cursor_;
  std::vector<uint64_t> shown_;
  RecordId record_ = 0, at_ = 0;
};

bool all_branches(const std::vector<View>& views) {
  return std::all_of(views.begin(), views.end(), [](const View& view) { return view.branch != BranchId::none; });
}

}  // namespace

void TupleOriented::set_bit(Transaction& transaction, RecordId record, BranchId branch, bool shown) {
  const Bytes key = storage::record_key(record);
  const auto before = tuples().get(transaction, key);
  Bytes row(before.value_or(BytesView()));
  const auto at = static_cast<uint32_t>(branch);
  if (shown) {
    row.resize(std::max<size_t>(row.size(), at / 8 + 1), '\0');
    row[at / 8] |= static_cast<char>(1 << (at % 8));
  } else if (at / 8 < row.size()) {
    row[at / 8] &= static_cast<char>(~(1 << (at % 8)));
    while (!row.empty() && row.back() == '\0') row.pop_back();
  }
  if (!row.empty()) {
    tuples().put(transaction, key, row);
  } else if (before) {
    tuples().remove(transaction, key);
  }
}

bool TupleOriented::shows(Transaction& transaction, const View& view, RecordId record) {
  if (view.branch == BranchId::none) return BitmapStore::shows(transaction, view, record);
  const auto row = tuples().get(transaction, storage::record_key(record));
  return row && bit(*row, view.branch);
}

std::unique_ptr<Scan> TupleOriented::scan(Transaction& transaction, const View& view) {
  if (view.branch == BranchId::none) return BitmapStore::scan(transaction, view);
  return std::make_unique<TupleScan>(parts_.records, transaction, tuples(), std::vector<View>{view});
}

std::unique_ptr<ManyScan> TupleOriented::scan_many(Transaction& transaction, const std::vector<View>& views) {
  if (!all_branches(views)) return BitmapStore::scan_many(transaction, views);
  return std::make_unique<TupleScan>(parts_.records, transaction, tuples(), views);
}

void TupleOriented::opened(Transaction& transaction, BranchId branch, State state) {
  const auto scan = BitmapStore::scan(transaction, {.state = state});
  while (scan->next()) set_bit(transaction, scan->record(), branch, true);
}

void TupleOriented::closed(Transaction& transaction, const View& view) {
  discard(transaction, view);
  const auto scan = BitmapStore::scan(transaction, {.state = view.state});
  while (scan->next()) set_bit(transaction, scan->record(), view.branch, false);
}

}  // namespace versions
