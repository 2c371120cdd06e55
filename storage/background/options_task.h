// This task puts options that were set since the last round into force. It comes first in each round and is never work.
#pragma once

#include "dedup/writeback_cache.h"
#include "storage/background/live_options.h"
#include "storage/background/partitions.h"
#include "storage/background/task.h"

namespace storage {

class OptionsTask final : public Task {
 public:
  OptionsTask(LiveOptions& options, Partitions& partitions, dedup::WritebackCache& write_backs)
      : options_(options), partitions_(partitions), write_backs_(write_backs) {}

  bool needs_room() const override { return false; }
  bool moves_contents() const override { return false; }
  bool step(const Round&) override {
    if (!options_.take()) return false;
    partitions_.take_options();
    write_backs_.set_bytes_max(options_.in_force().writeback_cache_bytes);
    return false;
  }

 private:
  LiveOptions& options_;
  Partitions& partitions_;
  dedup::WritebackCache& write_backs_;
};

}  // namespace storage
