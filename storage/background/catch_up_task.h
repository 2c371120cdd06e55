// This task reads collections through whose contents were not queued: from the place where the queue overflowed, or where
// encoding stopped before a restart.
#pragma once

#include "storage/background/content_encoder.h"
#include "storage/background/flush_task.h"
#include "storage/background/task.h"
#include "storage/background/tidy_task.h"

namespace storage {

class CatchUpTask final : public Task {
 public:
  CatchUpTask(Engine& engine, const LiveOptions& options, TrackedCollections& tracked, ContentEncoder& encoder,
              PublishedFigures& figures, FlushTask& flush, TidyTask& tidy)
      : engine_(engine), options_(options), tracked_(tracked), encoder_(encoder), figures_(figures), flush_(flush), tidy_(tidy) {}

  bool step(const Round& round) override;
  bool moves_contents() const override { return false; }
  WriteBurst::Waiting waiting() const override { return {.behind = tracked_.count_behind() > 0}; }

 private:
  struct Slice {
    std::vector<std::pair<dedup::ContentId, Bytes>> contents;
    RecordId reached = 0;
    size_t count = 0;  // These records were read.
    bool end = false;
  };
  Slice read(Collection& collection, RecordId from) const;

  Engine& engine_;
  const LiveOptions& options_;
  TrackedCollections& tracked_;
  ContentEncoder& encoder_;
  PublishedFigures& figures_;
  FlushTask& flush_;
  TidyTask& tidy_;
};

}  // namespace storage
