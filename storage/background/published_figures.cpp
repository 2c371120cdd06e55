#include "storage/background/published_figures.h"

namespace storage {

void PublishedFigures::publish(bool with_open_batches) {
  auto databases = partitions_.figures(with_open_batches);
  counts_.write_back_records = write_backs_.size() + counts_.write_back_in_hand;
  counts_.write_back_bytes = write_backs_.bytes();
  counts_.write_back_discarded = write_backs_.discarded();
  counts_.write_back_discarded_bytes = write_backs_.discarded_bytes();
  const base::MutexLock lock(mutex_);
  published_ = counts_;
  published_.databases = std::move(databases);
}

DedupFigures PublishedFigures::get() const {
  const base::MutexLock lock(mutex_);
  return published_;
}

}  // namespace storage
