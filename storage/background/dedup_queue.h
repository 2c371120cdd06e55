// What waits to be encoded: contents while they fit the budget, then only their
// names, then nothing, and the collection is read through later from where its
// encoding stopped. Work is put off, never data lost.
//
// Clients never wait here. The worker is in no hurry and may be preempted at any
// moment by those who are, so what the two share are a list that is pushed to and
// taken as a whole, and counters.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>

#include "base/bytes.h"
#include "storage/engine/record_id.h"

namespace storage {

struct DedupWork {
  enum class Kind : uint8_t {
    written,  // a content is there, by an insert or an update
    removed,  // one is not there any more
    dropped,  // nor is the whole collection
  };
  Kind kind = Kind::written;
  CollectionId collection = 0;
  RecordId record = 0;
  Stamp generation = 0;                     // of the content written
  Stamp previous = 0;                       // of the one it took the place of, or that was removed; 0: none
  bool previous_is_base = false;            // others are based on that one, which is there for them
  std::optional<base::Bytes> content = {};  // written: nullopt where it has to be read back
};

// `push` from any thread; `take` from one.
class DedupQueue {
 public:
  explicit DedupQueue(size_t bytes_max, size_t count_max = 200'000) : bytes_max_(bytes_max), count_max_(count_max) {}
  ~DedupQueue() {
    work_.clear();
    collect();
  }
  DedupQueue(const DedupQueue&) = delete;
  DedupQueue& operator=(const DedupQueue&) = delete;

  // Whether a content of this length would be kept now: saves a copy that would not be.
  bool has_room(size_t bytes) const {
    return bytes_.load(std::memory_order_relaxed) + bytes <= bytes_max_.load(std::memory_order_relaxed);
  }

  // False: full, the work is not taken. That a collection was dropped always is.
  bool push(DedupWork work) {
    if (work.kind != DedupWork::Kind::dropped && count_.load(std::memory_order_relaxed) >= count_max_) {
      refused_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    if (work.content && !has_room(work.content->size())) work.content.reset();
    if (work.content) {
      bytes_.fetch_add(work.content->size(), std::memory_order_relaxed);
    } else if (work.kind == DedupWork::Kind::written) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
    }
    count_.fetch_add(1, std::memory_order_relaxed);
    auto* node = new Node{std::move(work), pushed_.load(std::memory_order_relaxed)};
    while (!pushed_.compare_exchange_weak(node->before, node, std::memory_order_release, std::memory_order_relaxed)) {
    }
    return true;
  }

  // The oldest, up to `count` and about `bytes` of content.
  std::deque<DedupWork> take(size_t count, size_t bytes) {
    if (work_.empty()) collect();
    std::deque<DedupWork> taken;
    size_t taken_bytes = 0;
    while (!work_.empty() && taken.size() < count && taken_bytes < bytes) {
      if (work_.front().content) taken_bytes += work_.front().content->size();
      taken.push_back(std::move(work_.front()));
      work_.pop_front();
    }
    bytes_.fetch_sub(taken_bytes, std::memory_order_relaxed);
    count_.fetch_sub(taken.size(), std::memory_order_relaxed);
    return taken;
  }

  void set_bytes_max(size_t bytes_max) { bytes_max_.store(bytes_max, std::memory_order_relaxed); }
  size_t size() const { return count_.load(std::memory_order_relaxed); }
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  size_t bytes_max() const { return bytes_max_.load(std::memory_order_relaxed); }
  size_t count_max() const { return count_max_; }
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }  // contents of which only the name was kept
  uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }  // names that were not kept either

 private:
  struct Node {
    DedupWork work;
    Node* before;
  };

  // Into an empty `work_`; newest first is how they were pushed.
  void collect() {
    for (Node* node = pushed_.exchange(nullptr, std::memory_order_acquire); node;) {
      const std::unique_ptr<Node> taken(node);
      work_.push_front(std::move(taken->work));
      node = taken->before;
    }
  }

  std::atomic<size_t> bytes_max_;
  const size_t count_max_;
  std::atomic<size_t> bytes_{0};
  std::atomic<size_t> count_{0};
  std::atomic<uint64_t> dropped_{0};
  std::atomic<uint64_t> refused_{0};
  std::atomic<Node*> pushed_{nullptr};
  std::deque<DedupWork> work_;  // the taker's: what was collected and not yet taken, oldest first
};

}  // namespace storage
