#include "replication/consensus/log_store.h"

#include <algorithm>

#include "base/error.h"

namespace replication::consensus {

LogStore::LogStore(LogDisk& disk, uint64_t cache_bytes_max) : disk_(disk), cache_bytes_max_(cache_bytes_max) {
  std::optional<LogImage> image = disk.load();
  if (!image) return;
  initialized_ = true;
  meta_ = std::move(image->meta);
  runs_ = std::move(image->runs);
  last_ = image->last;
  if (meta_.hard.commit > last_) {
    throw base::OperationError(
        base::ErrorCode::data_corruption_detected,
        "the log ends at " + std::to_string(last_) + " but was committed up to " + std::to_string(meta_.hard.commit));
  }
}

Lookup LogStore::term(Index index, Term& out) const {
  if (index < meta_.compacted.index) return Lookup::compacted;
  if (index > last_) return Lookup::unavailable;
  if (index == meta_.compacted.index) {
    out = meta_.compacted.term;
    return Lookup::found;
  }
  const auto after =
      std::upper_bound(runs_.begin(), runs_.end(), index, [](Index at, const TermRun& run) { return at < run.first; });
  base::check(after != runs_.begin(), "every entry is in a run of its term");
  out = std::prev(after)->term;
  return Lookup::found;
}

EntryPtr LogStore::cached(Index index) const {
  const Index from = last_ + 1 - cache_.size();
  return index >= from && index <= last_ ? cache_[index - from] : nullptr;
}

Lookup LogStore::entries(Index low, Index high, uint64_t bytes_max, std::vector<EntryPtr>& out) {
  if (low < first()) return Lookup::compacted;
  if (high > last_ + 1) return Lookup::unavailable;
  const Index from = last_ + 1 - cache_.size();
  uint64_t bytes = 0;
  if (low < from) {
    out = disk_.read(low, std::min(high, from), bytes_max);
    for (const EntryPtr& entry : out) bytes += entry->bytes();
    low += out.size();
    if (low < std::min(high, from)) return Lookup::found;  // the limit was reached
  }
  for (; low < high; ++low) {
    const EntryPtr& entry = cache_[low - from];
    bytes += entry->bytes();
    if (bytes > bytes_max && !out.empty()) break;
    out.push_back(entry);
  }
  return Lookup::found;
}

void LogStore::append(uint64_t write, const std::vector<EntryPtr>& entries) {
  if (entries.empty()) return;
  const Index begin = entries.front()->index;
  base::check(begin >= first() && begin <= last_ + 1, "entries follow the log or replace its end");
  while (!cache_.empty() && cache_.back()->index >= begin) {
    cache_bytes_ -= cache_.back()->bytes();
    cache_.pop_back();
  }
  while (!runs_.empty() && runs_.back().first >= begin) runs_.pop_back();
  for (const EntryPtr& entry : entries) {
    if (runs_.empty() || runs_.back().term != entry->term) runs_.push_back({entry->index, entry->term});
    cache_bytes_ += entry->bytes();
    cache_.push_back(entry);
  }
  last_ = entries.back()->index;
  pending_.push_back({write, begin});
  evict();
}

void LogStore::written(uint64_t write) {
  while (!pending_.empty() && pending_.front().write <= write) pending_.pop_front();
  evict();
}

void LogStore::evict() {
  Index keep = last_ + 1;
  for (const Pending& pending : pending_) keep = std::min(keep, pending.first);
  while (cache_bytes_ > cache_bytes_max_ && !cache_.empty() && cache_.front()->index < keep) {
    cache_bytes_ -= cache_.front()->bytes();
    cache_.pop_front();
  }
}

void LogStore::set_members_through(Index index) {
  meta_.members_through = std::max(meta_.members_through, index);
}

bool LogStore::compact(Index index) {
  index = std::min(index, last_);
  Position at{index, 0};
  if (index < first() || term(index, at.term) != Lookup::found) return false;
  meta_.compacted = at;
  const auto after =
      std::upper_bound(runs_.begin(), runs_.end(), index + 1, [](Index i, const TermRun& run) { return i < run.first; });
  if (after != runs_.begin()) {
    runs_.erase(runs_.begin(), std::prev(after));
    runs_.front().first = std::max(runs_.front().first, index + 1);
    if (runs_.front().first > last_) runs_.clear();
  }
  while (!cache_.empty() && cache_.front()->index <= index) {
    cache_bytes_ -= cache_.front()->bytes();
    cache_.pop_front();
  }
  return true;
}

void start_log(LogDisk& disk, Position at, const Membership& members) {
  LogBatch batch;
  if (const std::optional<LogImage> before = disk.load()) batch.meta.hard = before->meta.hard;
  if (batch.meta.hard.term < at.term) batch.meta.hard = {.term = at.term};  // a vote is of its term
  batch.meta.hard.commit = at.index;
  batch.meta.members = members;
  batch.meta.members_through = at.index;
  batch.meta.compacted = at;
  batch.start_over = true;
  disk.write({batch});
}

void adopt_copied_log(LogDisk& disk, Term own_term, MemberId own_vote) {
  const std::optional<LogImage> copied = disk.load();
  if (!copied) throw base::OperationError(base::ErrorCode::data_corruption_detected, "the copied data has no log of consensus");
  LogBatch batch;
  batch.meta = copied->meta;
  HardState& hard = batch.meta.hard;
  hard.vote = own_term >= hard.term ? own_vote : 0;
  hard.term = std::max(own_term, hard.term);
  disk.write({batch});
}

}  // namespace replication::consensus
