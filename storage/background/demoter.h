// The demoter demotes one head that nobody reads: it asks the encoder for a similar head, and stores this one as a delta of it.
#pragma once

#include "storage/background/cold_pass.h"
#include "storage/background/partitions.h"
#include "storage/background/published_figures.h"
#include "storage/background/sources.h"
#include "storage/background/tidy_task.h"

namespace storage {

// Only the scheduler's thread uses an object.
class Demoter {
 public:
  Demoter(Engine& engine, Partitions& partitions, Sources& sources, PublishedFigures& figures, TidyTask& tidy)
      : engine_(engine), partitions_(partitions), sources_(sources), figures_(figures), tidy_(tidy) {}

  void demote(Collection& collection, const ColdPass::Found& head);

 private:
  Engine& engine_;
  Partitions& partitions_;
  Sources& sources_;
  PublishedFigures& figures_;
  TidyTask& tidy_;
};

}  // namespace storage
