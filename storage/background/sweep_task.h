// This task looks in quiet times for dead contents that no read meets, and splices them out (dead_sweep.h).
//
// After a pass that changed nothing the next one begins only when the number of dead contents has changed. Passes over a
// collection begin at most once a minute, unless somebody waits for them.
#pragma once

#include <unordered_map>

#include "storage/background/dead_sweep.h"
#include "storage/background/published_figures.h"
#include "storage/background/sources.h"
#include "storage/background/task.h"
#include "storage/background/tidy_task.h"

namespace storage {

class SweepTask final : public Task, public DropListener {
 public:
  SweepTask(Engine& engine, const TrackedCollections& tracked, Sources& sources, PublishedFigures& figures, TidyTask& tidy)
      : engine_(engine), tracked_(tracked), sources_(sources), figures_(figures), tidy_(tidy) {}

  bool needs_room() const override { return false; }  // It frees space.
  bool step(const Round& round) override;             // A step is a slice of a pass over one collection.
  void forget(CollectionId collection) override { sweeps_.erase(collection); }

 private:
  struct Sweep {
    DeadSweep dead;
    int64_t begun_us = 0;
    int64_t dead_at_end = -1;  // The last pass left this many dead contents.
    bool spliced = false;      // The current pass spliced something out.
    bool on = false;
  };
  bool begin(Sweep& sweep, int64_t dead, bool now) const;
  void look(Sweep& sweep, ChainStore& store);

  Engine& engine_;
  const TrackedCollections& tracked_;
  Sources& sources_;
  PublishedFigures& figures_;
  TidyTask& tidy_;
  std::unordered_map<CollectionId, Sweep> sweeps_;
};

}  // namespace storage
