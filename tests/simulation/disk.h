// A disk of the simulation knows what is on it, and what a crash leaves.
#pragma once

#include <map>

#include "replication/consensus/log_disk.h"

namespace simulation {

using namespace replication::consensus;

// A write takes effect at once and for good: the world calls it when a write's time has come. When a member crashes, the writes
// under way are cut anywhere: whole batches may have arrived, and the one that was torn hasn't.
class Disk final : public LogDisk {
 public:
  std::optional<LogImage> load() override;
  void write_on(const std::vector<LogBatch>& batches, size_t& done) override;
  std::vector<EntryPtr> read(Index low, Index high, uint64_t bytes_max) override;

  // Tells whether the entry, or the log that stands for it, survives a crash now.
  bool holds(Position at) const;
  uint64_t bytes() const;
  Index last() const { return rows_.empty() ? meta_.compacted.index : rows_.rbegin()->first; }
  const LogMeta& meta() const { return meta_; }

  bool forgets_votes = false;  // a fault of our own making: see World::Mutation

 private:
  bool begun_ = false;
  LogMeta meta_;
  std::map<Index, EntryPtr> rows_;
};

}  // namespace simulation
