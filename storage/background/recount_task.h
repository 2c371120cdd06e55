// This task counts again what collections store whose counts a crash may have left wrong (recount.h), one collection in a step.
#pragma once

#include <vector>

#include "storage/background/dedup_queue.h"
#include "storage/background/dedup_state.h"
#include "storage/background/scheduler.h"
#include "storage/background/tracked_collections.h"

namespace storage {

class RecountTask final : public Task {
 public:
  RecountTask(Engine& engine, const DedupState& state, const DedupQueue& queue, const TrackedCollections& tracked,
              const Scheduler& scheduler)
      : engine_(engine), state_(state), queue_(queue), tracked_(tracked), scheduler_(scheduler) {}

  // The counts of this collection are from before a crash. This is called before the scheduler starts.
  void add(CollectionId id) { to_recount_.push_back(id); }
  bool counted(CollectionId id) const;  // The caller must be the scheduler's thread or hold the lock of Scheduler::hold.

  // A step gives up, to begin again later, when something more urgent comes.
  bool step(const Round& round) override;
  bool moves_contents() const override { return false; }
  // The run has ended in order when all counts are right.
  void finish() override;

 private:
  Engine& engine_;
  const DedupState& state_;
  const DedupQueue& queue_;
  const TrackedCollections& tracked_;
  const Scheduler& scheduler_;
  std::vector<CollectionId> to_recount_;
};

}  // namespace storage
