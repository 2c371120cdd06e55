// This task splices out the dead contents that reads have met.
#pragma once

#include "storage/background/published_figures.h"
#include "storage/background/sources.h"
#include "storage/background/task.h"

namespace storage {

class SpliceTask final : public Task {
 public:
  SpliceTask(Engine& engine, const TrackedCollections& tracked, Sources& sources, PublishedFigures& figures)
      : engine_(engine), tracked_(tracked), sources_(sources), figures_(figures) {}

  bool step(const Round& round) override;

 private:
  Engine& engine_;
  const TrackedCollections& tracked_;
  Sources& sources_;
  PublishedFigures& figures_;
};

}  // namespace storage
