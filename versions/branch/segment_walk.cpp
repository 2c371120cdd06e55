#include "versions/branch/segment_walk.h"

#include "base/varint.h"

namespace versions {

Bytes write_entry(const Entry& entry) {
  Bytes out;
  base::append_varint(out, static_cast<uint64_t>(entry.adopted));
  return out + entry.key;
}

Entry read_entry(BytesView bytes) {
  const auto adopted = base::take_varint(bytes);
  if (!adopted) throw base::OperationError(base::ErrorCode::data_corruption_detected, "an entry of a segment can't be read");
  return {static_cast<RecordId>(*adopted), Bytes(bytes)};
}

SegmentWalk::SegmentWalk(RecordStore& records, Transaction& transaction, const Table& entries,
                         std::vector<std::pair<Segment, uint32_t>> segments)
    : segments_(std::move(segments)),
      records_(records.cursor(transaction, storage::Direction::backward)),
      entries_(entries.cursor(transaction)) {}

void SegmentWalk::step_records() {
  record_ = records_.next() ? records_.id() : 0;
  if (record_ != 0 && segment_of(record_) != segments_[at_].first) record_ = 0;
}

void SegmentWalk::step_entries(bool on) {
  beside_ = on ? storage::record_from_key(entries_.key()) : 0;
  if (beside_ != 0 && segment_of(beside_) != segments_[at_].first) beside_ = 0;
}

void SegmentWalk::begin_segment() {
  const RecordId last = record_at(segments_[at_].first, segments_[at_].second);
  records_.seek_after(last + 1);
  step_records();
  step_entries(entries_.seek_back(storage::record_key(last)));
}

bool SegmentWalk::next() {
  if (begun_) {
    if (is_record_)
      step_records();
    else
      step_entries(entries_.previous());
  } else if (!segments_.empty()) {
    begun_ = true;
    begin_segment();
  }
  while (record_ == 0 && beside_ == 0) {
    if (at_ + 1 >= segments_.size()) return false;
    ++at_;
    begin_segment();
  }
  is_record_ = record_ > beside_;
  id_ = std::max(record_, beside_);
  if (!is_record_) entry_ = read_entry(entries_.value());
  return true;
}

Bytes SegmentWalk::key() {
  return is_record_ ? key_of(content()) : entry_.key;
}

}  // namespace versions
