// This task promotes heads that were read after they had been demoted.
#pragma once

#include "storage/background/partitions.h"
#include "storage/background/published_figures.h"
#include "storage/background/sources.h"
#include "storage/background/task.h"

namespace storage {

class PromoteTask final : public Task {
 public:
  PromoteTask(Engine& engine, Partitions& partitions, const TrackedCollections& tracked, Sources& sources,
              PublishedFigures& figures)
      : engine_(engine), partitions_(partitions), tracked_(tracked), sources_(sources), figures_(figures) {}

  bool step(const Round& round) override;

 private:
  bool promote(Collection& collection, ChainStore& store, RecordId record);

  Engine& engine_;
  Partitions& partitions_;
  const TrackedCollections& tracked_;
  Sources& sources_;
  PublishedFigures& figures_;
};

}  // namespace storage
