#include "datasets/replay/ledger.h"

#include <algorithm>

#include "base/hash.h"

namespace datasets::replay {

uint64_t id_hash(std::string_view collection, const bson::ValueView& id) {
  return base::hash64(id.bytes(), base::hash64(collection, static_cast<uint64_t>(id.type())));
}

uint64_t document_hash(bson::DocumentView document) {
  const uint64_t hash = base::hash64(document.bytes());
  return hash == removed_hash ? 1 : hash;
}

void Ledger::add(uint64_t id, uint64_t document) {
  const base::MutexLock lock(mutex_);
  entries_.push_back({id, document, entries_.size()});
}

void Ledger::settle() {
  const base::MutexLock lock(mutex_);
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.id != b.id ? a.id < b.id : a.sequence < b.sequence; });
  size_t kept = 0;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const bool last = i + 1 == entries_.size() || entries_[i + 1].id != entries_[i].id;
    if (last && entries_[i].document != removed_hash) entries_[kept++] = entries_[i];
  }
  entries_.resize(kept);
  for (Entry& entry : entries_) entry.sequence = 0;
  round_ = 0;
}

void Ledger::begin_check() {
  const base::MutexLock lock(mutex_);
  ++round_;
  seen_ = 0;
}

Ledger::Answer Ledger::check(uint64_t id, uint64_t document) {
  const base::MutexLock lock(mutex_);
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), id,
                                      [](const Entry& entry, uint64_t wanted) { return entry.id < wanted; });
  if (found == entries_.end() || found->id != id) return Answer::unknown;
  if (found->sequence == round_) return Answer::seen_before;
  found->sequence = round_;
  ++seen_;
  return found->document == document ? Answer::matches : Answer::differs;
}

}  // namespace datasets::replay
