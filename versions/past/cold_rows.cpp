#include "versions/past/cold_rows.h"

namespace versions::past {

size_t ColdRows::force(SnapshotId newest, const std::function<void(RecordId)>& copy) {
  size_t forced = 0;
  for (size_t i = 0; i < last_.size(); ++i) {
    if (last_[i] + age_ > newest) continue;
    const auto row = static_cast<RecordId>(i + 1);
    copy(row);
    retained(row, newest);
    ++forced;
  }
  next_ = newest + age_;
  return forced;
}

}  // namespace versions::past
