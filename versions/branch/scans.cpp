#include "versions/branch/scans.h"

#include <algorithm>

namespace versions {

namespace {

std::shared_ptr<const RecordSet> united(const std::vector<std::shared_ptr<const RecordSet>>& sets) {
  auto all = std::make_shared<RecordSet>();
  const RecordSet* before = nullptr;
  for (const auto& set : sets) {
    if (set.get() != before) *all |= *set;
    before = set.get();
  }
  return all;
}

}  // namespace

SetScan::SetScan(RecordStore& records, Transaction& transaction, std::shared_ptr<const RecordSet> set)
    : set_(std::move(set)), part_(set_->parts().begin()), cursor_(records.cursor(transaction)) {}

bool SetScan::next() {
  for (; part_ != set_->parts().end(); ++part_, at_.reset()) {
    if (!at_) {
      at_.emplace(part_->second.begin());
      end_.emplace(part_->second.end());
    }
    while (*at_ != *end_) {
      loop_.pass();
      record_ = record_at(part_->first, **at_);
      ++*at_;
      if (stand_on(record_)) return true;
    }
  }
  return false;
}

// False: there is no such record. A first state may name ids that were never used, or whose records are gone.
bool SetScan::stand_on(RecordId record) {
  constexpr RecordId near = 8;
  if (cursor_at_ >= record) return cursor_at_ == record;
  if (cursor_at_ == 0 || record - cursor_at_ > near) {
    cursor_.seek_after(record - 1);
    cursor_at_ = 0;
  }
  while (cursor_at_ < record) {
    if (!cursor_.next()) {
      cursor_at_ = storage::record_id_max;
      return false;
    }
    cursor_at_ = cursor_.id();
  }
  return cursor_at_ == record;
}

ManySetScan::ManySetScan(RecordStore& records, Transaction& transaction, std::vector<std::shared_ptr<const RecordSet>> sets)
    : sets_(std::move(sets)), scan_(records, transaction, united(sets_)), shown_((sets_.size() + 63) / 64) {
  bits_.resize(window_records * shown_.size());
}

bool ManySetScan::next() {
  if (!scan_.next()) return false;
  const RecordId record = scan_.record();
  if (window_ < 0 || record - window_ >= window_records) open_window(record - record % window_records);
  const size_t row = static_cast<size_t>(record - window_) * shown_.size();
  std::copy_n(bits_.begin() + static_cast<ptrdiff_t>(row), shown_.size(), shown_.begin());
  return true;
}

void ManySetScan::open_window(RecordId record) {
  window_ = record;
  std::fill(bits_.begin(), bits_.end(), 0);
  const uint32_t first = offset_of(record);
  const size_t words = shown_.size();
  for (size_t view = 0; view < sets_.size(); ++view) {
    const Bitmap* part = sets_[view]->part(segment_of(record));
    if (!part) continue;
    roaring_uint32_iterator_t at;
    roaring_init_iterator(&part->roaring, &at);
    if (!roaring_move_uint32_iterator_equalorlarger(&at, first)) continue;
    const uint64_t bit = uint64_t{1} << (view % 64);
    for (; at.has_value && at.current_value - first < window_records; roaring_advance_uint32_iterator(&at)) {
      bits_[(at.current_value - first) * words + view / 64] |= bit;
    }
  }
}

}  // namespace versions
