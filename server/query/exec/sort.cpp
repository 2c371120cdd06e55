#include "server/query/exec/sort.h"

#include <algorithm>

#include "base/error.h"
#include "server/query/exec/sort_runs.h"
#include "server/query/fitting_int.h"

namespace server::query::exec {

void sort_entries(std::vector<SortEntry>& entries, Allowance& allowance) {
  std::sort(entries.begin(), entries.end(), [&](const SortEntry& a, const SortEntry& b) {
    allowance.work();
    return a < b;
  });
}

std::unique_ptr<DocumentMetadata> kept_metadata(const MetadataPlace* place) {
  return place && place->wanted() ? std::make_unique<DocumentMetadata>(place->current) : nullptr;
}

void give_back(SortEntry& entry, MetadataPlace* place) {
  if (place && entry.metadata) place->current = std::move(*entry.metadata);
}

Sort::Sort(StagePtr child, SortPattern pattern, bson::DocumentView specification, Options options, Allowance& allowance)
    : Stage("SORT", std::move(child)),
      pattern_(std::move(pattern)),
      specification_(specification),
      options_(std::move(options)),
      allowance_(allowance),
      held_(allowance.memory()) {}
Sort::~Sort() = default;

Step Sort::do_work(storage::Transaction& transaction) {
  if (loaded_) return next() ? Step::advanced : Step::end;
  switch (child().work(transaction)) {
    case Step::advanced: {
      const bson::DocumentView document = child().document();
      take({pattern_.key(document), arrivals_++, child().record(), bson::Document(document), kept_metadata(options_.metadata)});
      break;
    }
    case Step::end: finish(); break;
    case Step::pending: break;
  }
  return Step::pending;
}

void Sort::take(SortEntry entry) {
  total_bytes_ += entry.document.size();
  const auto limit = static_cast<size_t>(options_.limit);
  if (limit != 0 && entries_.size() == limit) {
    if (!(entry < entries_.front())) return;
    std::pop_heap(entries_.begin(), entries_.end());
    held_.set(held_.bytes() + entry.bytes() - entries_.back().bytes());
    entries_.back() = std::move(entry);
    std::push_heap(entries_.begin(), entries_.end());
  } else {
    held_.add(entry.bytes());
    entries_.push_back(std::move(entry));
    if (entries_.size() == limit) std::make_heap(entries_.begin(), entries_.end());
  }
  if (held_.bytes() > options_.memory_bytes_max) make_room();
}

void Sort::make_room() {
  if (!options_.allow_disk_use) {
    throw base::OperationError(base::ErrorCode::query_exceeded_memory_limit_no_disk_use_allowed,
                               "Sort exceeded memory limit of " + std::to_string(options_.memory_bytes_max) +
                                   " bytes, but did not opt in to external sorting.");
  }
  if (!runs_) runs_ = std::make_unique<SortRuns>(options_.temporary_path, *options_.engine);
  sort_entries(entries_, allowance_);
  runs_->add(entries_);
  entries_.clear();
  held_.set(0);
}

void Sort::finish() {
  loaded_ = true;
  if (runs_ && !entries_.empty()) return make_room();
  sort_entries(entries_, allowance_);
}

bool Sort::next() {
  if (options_.limit != 0 && static_cast<int64_t>(next_) == options_.limit) return false;
  if (runs_) {
    if (!runs_->next(current_)) return false;
  } else {
    if (next_ == entries_.size()) return false;
    current_ = std::move(entries_[next_]);
  }
  ++next_;
  give_back(current_, options_.metadata);
  return true;
}

void Sort::append_details(bson::Builder& out) const {
  out.append("sortPattern", specification_).append("memLimit", fitting_int(static_cast<int64_t>(options_.memory_bytes_max)));
  if (options_.limit != 0) out.append("limitAmount", fitting_int(options_.limit));
  out.append("type", "simple");
}

void Sort::append_figures(bson::Builder& out) const {
  out.append("totalDataSizeSorted", fitting_int(static_cast<int64_t>(total_bytes_))).append("usedDisk", runs_ != nullptr);
  out.append("spills", fitting_int(static_cast<int64_t>(runs_ ? runs_->count() : 0)));
  out.append("spilledDataStorageSize", fitting_int(runs_ ? runs_->bytes() : 0));
}

}  // namespace server::query::exec
