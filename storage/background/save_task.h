// This task saves the place at which encoding stands, so that it goes on there after a restart: every ten seconds while clients
// write, and at once when they don't.
#pragma once

#include "storage/background/dedup_queue.h"
#include "storage/background/missed_updates.h"
#include "storage/background/partitions.h"
#include "storage/background/published_figures.h"
#include "storage/background/sources.h"
#include "storage/background/task.h"

namespace storage {

class SaveTask final : public Task, public DropListener {
 public:
  struct Needs {
    Engine& engine;
    const DedupState& state;
    const DedupQueue& queue;
    Partitions& partitions;
    TrackedCollections& tracked;
    const MissedUpdates& missed;
    Sources& sources;
    PublishedFigures& figures;
  };
  explicit SaveTask(const Needs& needs) : needs_(needs) {}

  // Saving is never a reason for another round, so the function returns false.
  bool step(const Round& round) override;
  bool moves_contents() const override { return false; }
  void finish() override { save(true); }
  void forget(CollectionId collection) override;

  // With `with_open_batches` the figures that are published then are as exact as they can be (Partitions::figures).
  void save(bool with_open_batches);

 private:
  const Needs needs_;
  int64_t saved_us_ = 0;
};

}  // namespace storage
