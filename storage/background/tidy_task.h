// This task packs and compacts the tables in quiet times (table_packer.h), until nothing is left to gain.
#pragma once

#include <functional>

#include "base/mutex.h"
#include "storage/background/dedup_queue.h"
#include "storage/background/partitions.h"
#include "storage/background/published_figures.h"
#include "storage/background/scheduler.h"
#include "storage/background/tracked_collections.h"

namespace storage {

class TidyTask final : public Task {
 public:
  TidyTask(Contents& contents, const DedupQueue& queue, const Partitions& partitions, const TrackedCollections& tracked,
           PublishedFigures& figures, const Scheduler& scheduler);

  bool step(const Round& round) override;
  bool needs_room() const override { return false; }  // It compacts in any case, and packs if there is room.
  void begin_again() { done_ = false; }               // Another task has freed space.

  // This function tidies up one collection, and the metadata of all, on the caller's thread. It calls `interrupted` between
  // batches, which may throw.
  void tidy(Collection& collection, const std::function<void()>& interrupted);

 private:
  Contents& contents_;
  const DedupQueue& queue_;
  const Partitions& partitions_;
  const TrackedCollections& tracked_;
  PublishedFigures& figures_;
  const Scheduler& scheduler_;
  base::Mutex packing_;    // Only one thread packs at a time.
  int64_t tidied_us_ = 0;  // The last step ended at this time.
  bool done_ = false;      // The last step gained nothing, and no space was freed since.
};

}  // namespace storage
