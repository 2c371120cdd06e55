#include "tests/simulation/disk.h"

#include "base/error.h"

namespace simulation {

std::optional<LogImage> Disk::load() {
  if (!begun_) return std::nullopt;
  LogImage image{meta_, {}, last()};
  for (const auto& [index, entry] : rows_) {
    if (image.runs.empty() || image.runs.back().term != entry->term) image.runs.push_back({index, entry->term});
  }
  return image;
}

void Disk::write_on(const std::vector<LogBatch>& batches, size_t& done) {
  for (; done < batches.size(); ++done) {
    const LogBatch& batch = batches[done];
    begun_ = true;
    const MemberId vote = forgets_votes ? 0 : batch.meta.hard.vote;
    meta_ = batch.meta;
    meta_.hard.vote = vote;
    if (batch.start_over) rows_.clear();
    if (!batch.entries.empty()) {
      rows_.erase(rows_.lower_bound(batch.entries.front()->index), rows_.end());
      for (const EntryPtr& entry : batch.entries) rows_[entry->index] = entry;
    }
    rows_.erase(rows_.begin(), rows_.upper_bound(meta_.compacted.index));
    base::check(rows_.empty() || rows_.rbegin()->first - rows_.begin()->first + 1 == rows_.size(), "a log without holes");
    base::check(rows_.empty() || rows_.begin()->first == meta_.compacted.index + 1, "a log that begins where it says");
  }
}

std::vector<EntryPtr> Disk::read(Index low, Index high, uint64_t bytes_max) {
  std::vector<EntryPtr> out;
  uint64_t bytes = 0;
  for (; low < high; ++low) {
    const EntryPtr& entry = rows_.at(low);
    bytes += entry->bytes();
    if (bytes > bytes_max && !out.empty()) break;
    out.push_back(entry);
  }
  return out;
}

uint64_t Disk::bytes() const {
  uint64_t bytes = 0;
  for (const auto& [index, entry] : rows_) bytes += entry->bytes();
  return bytes;
}

bool Disk::holds(Position at) const {
  if (at.index <= meta_.compacted.index) return begun_;
  const auto found = rows_.find(at.index);
  return found != rows_.end() && found->second->term == at.term;
}

}  // namespace simulation
