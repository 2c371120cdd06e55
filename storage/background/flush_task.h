// This task writes deltas from the write-back cache to the chain tables: while no burst of writes is on, and otherwise when the
// cache is half full.
#pragma once

#include "storage/background/drop_listener.h"
#include "storage/background/live_options.h"
#include "storage/background/published_figures.h"
#include "storage/background/sources.h"
#include "storage/background/task.h"

namespace storage {

class FlushTask final : public Task, public DropListener {
 public:
  FlushTask(Engine& engine, const LiveOptions& options, Sources& sources, dedup::WritebackCache& write_backs,
            PublishedFigures& figures)
      : engine_(engine), options_(options), sources_(sources), write_backs_(write_backs), figures_(figures) {}

  bool step(const Round& round) override;
  void finish() override { flush(true); }
  void forget(CollectionId collection) override { write_backs_.invalidate_collection(collection); }

  void relieve();  // A task that has filled the cache calls this: when the cache is more than half full, some of it is written.

 private:
  bool half_full() const;
  bool flush(bool everything);

  Engine& engine_;
  const LiveOptions& options_;
  Sources& sources_;
  dedup::WritebackCache& write_backs_;
  PublishedFigures& figures_;
};

}  // namespace storage
