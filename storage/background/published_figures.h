// The tasks count what they do, and publish their counts now and then, so that other threads can read them.
#pragma once

#include "base/mutex.h"
#include "dedup/writeback_cache.h"
#include "storage/background/background_figures.h"
#include "storage/background/partitions.h"

namespace storage {

class PublishedFigures {
 public:
  PublishedFigures(const Partitions& partitions, const dedup::WritebackCache& write_backs)
      : partitions_(partitions), write_backs_(write_backs) {}

  // Only the scheduler's thread calls these two. `publish` adds the figures of the encoders and of the write-back cache to the
  // counts. Partitions::figures describes `with_open_batches`.
  DedupFigures& counts() { return counts_; }
  void publish(bool with_open_batches);

  DedupFigures get() const;  // This function is thread-safe.

 private:
  const Partitions& partitions_;
  const dedup::WritebackCache& write_backs_;
  DedupFigures counts_;
  mutable base::Mutex mutex_;
  DedupFigures published_ GUARDED_BY(mutex_);
};

}  // namespace storage
