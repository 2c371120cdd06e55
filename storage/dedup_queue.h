// What waits to be encoded: contents while they fit the budget, then only their
// names, then nothing, and the collection is read through later from where its
// encoding stopped. Work is put off, never data lost.
#pragma once

#include <deque>
#include <optional>

#include "base/bytes.h"
#include "storage/record_id.h"

namespace storage {

struct DedupWork {
  enum class Kind : uint8_t { inserted, superseded, dropped };
  Kind kind = Kind::inserted;
  CollectionId collection = 0;
  RecordId record = 0;
  Stamp generation = 0;
  std::optional<base::Bytes> content;  // inserted: nullopt where it has to be read back
};

// Not thread-safe.
class DedupQueue {
 public:
  explicit DedupQueue(size_t bytes_max, size_t count_max = 200'000) : bytes_max_(bytes_max), count_max_(count_max) {}

  // False: full, the work is not taken. What is superseded or dropped always is.
  bool push(DedupWork work) {
    const bool must = work.kind != DedupWork::Kind::inserted;
    if (!must && work_.size() >= count_max_) return ++refused_, false;
    if (work.content && bytes_ + work.content->size() > bytes_max_) {
      work.content.reset();
      ++dropped_;
    }
    if (work.content) bytes_ += work.content->size();
    work_.push_back(std::move(work));
    return true;
  }
  // The oldest, up to `count` and about `bytes` of content.
  std::deque<DedupWork> take(size_t count, size_t bytes) {
    std::deque<DedupWork> taken;
    size_t taken_bytes = 0;
    while (!work_.empty() && taken.size() < count && taken_bytes < bytes) {
      if (work_.front().content) taken_bytes += work_.front().content->size();
      taken.push_back(std::move(work_.front()));
      work_.pop_front();
    }
    bytes_ -= taken_bytes;
    return taken;
  }

  void set_bytes_max(size_t bytes_max) { bytes_max_ = bytes_max; }
  size_t size() const { return work_.size(); }
  size_t bytes() const { return bytes_; }
  size_t bytes_max() const { return bytes_max_; }
  size_t count_max() const { return count_max_; }
  uint64_t dropped() const { return dropped_; }  // contents of which only the name was kept
  uint64_t refused() const { return refused_; }  // names that were not kept either

 private:
  size_t bytes_max_;
  size_t count_max_;
  size_t bytes_ = 0;
  uint64_t dropped_ = 0;
  uint64_t refused_ = 0;
  std::deque<DedupWork> work_;
};

}  // namespace storage
