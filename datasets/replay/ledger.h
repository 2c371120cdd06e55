// The ledger remembers by hash what the server has acknowledged, with 24 bytes a write.
//
// Documents are found by the xxh3 of collection and _id, and compared by the xxh3 of
// their bytes. Two of ten million ids share a hash with a chance of three in a
// million.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>

#include "base/mutex.h"
#include "bson/document.h"

namespace datasets::replay {

inline constexpr uint64_t removed_hash = 0;  // in place of a document's

uint64_t id_hash(std::string_view collection, const bson::ValueView& id);
uint64_t document_hash(bson::DocumentView document);  // never removed_hash

// A ledger is thread-safe. Call settle() after the last add(), and the functions below only after settle().
class Ledger {
 public:
  // Calls for one _id must come in the order of its writes.
  void add(uint64_t id, uint64_t document);

  // Keeps each _id's last state, by id, and drops what was removed.
  void settle();

  uint64_t size() const {
    const base::MutexLock lock(mutex_);
    return entries_.size();
  }

  // Begins a comparison with what is read back. Call it any number of times after settle().
  void begin_check();
  enum class Answer { matches, differs, unknown, seen_before };
  Answer check(uint64_t id, uint64_t document);
  uint64_t missing() const {
    const base::MutexLock lock(mutex_);
    return entries_.size() - seen_;
  }

 private:
  struct Entry {
    uint64_t id;
    uint64_t document;
    uint64_t sequence;
  };
  mutable base::Mutex mutex_;
  std::deque<Entry> entries_ GUARDED_BY(mutex_);  // grows without a second copy of itself
  uint64_t seen_ GUARDED_BY(mutex_) = 0;
  uint64_t round_ GUARDED_BY(mutex_) = 0;  // entries seen in this check have this sequence
};

}  // namespace datasets::replay
