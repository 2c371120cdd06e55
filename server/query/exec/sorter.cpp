#include "server/query/exec/sorter.h"

#include <algorithm>

#include "base/error.h"
#include "server/query/exec/sort_runs.h"

namespace server::query::exec {

namespace {

// A run of less than this isn't written because others have taken the memory: a sort of many tiny runs would never end.
constexpr size_t short_run_bytes = 64 << 10;

}  // namespace

Sorter::Sorter(Options options, Allowance& allowance)
    : options_(std::move(options)), allowance_(allowance), held_(allowance.memory()) {}
Sorter::~Sorter() = default;

void Sorter::take(bson::Bytes key, storage::RecordId record, bson::DocumentView document) {
  SortEntry entry{std::move(key), arrivals_++, record, {}};
  const bool full = at_limit();
  if (full) {
    if (!(entry < entries_.front())) return;
    std::pop_heap(entries_.begin(), entries_.end());
    held_.set(held_.bytes() - entries_.back().bytes());
    entries_.pop_back();
  }
  entry.document = bson::Document(document);
  if (options_.metadata && options_.metadata->wanted())
    entry.metadata = std::make_unique<DocumentMetadata>(options_.metadata->current);
  hold(entry.bytes());
  entries_.push_back(std::move(entry));
  if (at_limit()) full ? std::push_heap(entries_.begin(), entries_.end()) : std::make_heap(entries_.begin(), entries_.end());
  if (held_.bytes() > options_.memory_bytes_max) write_run();
}

// Others may have taken the memory before this sorter's share is full.
void Sorter::hold(size_t bytes) {
  if (held_.add_if_room(bytes)) return;
  if (options_.allow_disk_use && held_.bytes() >= short_run_bytes) write_run();
  held_.add(bytes);
}

void Sorter::write_run() {
  if (!options_.allow_disk_use) {
    throw base::OperationError(base::ErrorCode::query_exceeded_memory_limit_no_disk_use_allowed,
                               "Sort exceeded memory limit of " + std::to_string(options_.memory_bytes_max) +
                                   " bytes, but did not opt in to external sorting.");
  }
  if (!runs_) runs_ = std::make_unique<SortRuns>(*options_.engine, allowance_);
  sort_all();
  runs_->write(entries_);
  entries_.clear();
  held_.set(0);
  runs_->merge_full_levels();
}

void Sorter::sort_all() {
  std::sort(entries_.begin(), entries_.end(), [this](const SortEntry& a, const SortEntry& b) {
    allowance_.work();
    return a < b;
  });
}

void Sorter::finish() {
  if (runs_) {
    if (!entries_.empty()) write_run();
  } else {
    sort_all();
  }
}

bool Sorter::next(SortEntry& entry) {
  if (options_.limit != 0 && static_cast<int64_t>(next_) == options_.limit) return false;
  if (runs_) {
    if (!runs_->next(entry)) return false;
  } else {
    if (next_ == entries_.size()) return false;
    entry = std::move(entries_[next_]);
    held_.set(held_.bytes() - entry.bytes());
  }
  ++next_;
  if (options_.metadata && entry.metadata) options_.metadata->current = std::move(*entry.metadata);
  return true;
}

size_t Sorter::runs() const {
  return runs_ ? runs_->count() : 0;
}

int64_t Sorter::bytes_on_disk() const {
  return runs_ ? runs_->bytes() : 0;
}

}  // namespace server::query::exec
