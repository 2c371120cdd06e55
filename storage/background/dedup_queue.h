// The queue holds contents that wait to be encoded. It keeps whole contents while they fit the budget. Beyond that it keeps only
// their names, and then nothing: the background later reads the collection from the place where encoding stopped. The queue only
// puts work off and never loses data.
//
// Clients never wait here. The encode task isn't in a hurry, and client threads may preempt it at any moment. So the two share
// only counters and a list to which clients push and which the task takes as a whole.
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
    written,  // an insert or an update wrote a content
    removed,  // a content was removed
    dropped,  // the whole collection was dropped
  };
  Kind kind = Kind::written;
  CollectionId collection = 0;
  RecordId record = 0;
  Stamp generation = 0;                     // This names the content that was written.
  Stamp previous = 0;                       // This names the content that was replaced or removed; 0 means that there was none.
  bool previous_is_base = false;            // Deltas are based on the previous content, so it stays stored.
  std::optional<base::Bytes> content = {};  // For `written`, nullopt means that the content has to be read back.
};

// Any thread may call `push`; only one thread may call `take`.
class DedupQueue {
 public:
  explicit DedupQueue(size_t bytes_max, size_t count_max = 200'000) : bytes_max_(bytes_max), count_max_(count_max) {}
  ~DedupQueue() {
    work_.clear();
    collect();
  }
  DedupQueue(const DedupQueue&) = delete;
  DedupQueue& operator=(const DedupQueue&) = delete;

  // This function returns whether the queue would keep a content of this length now; if not, the caller needs no copy.
  bool has_room(size_t bytes) const {
    return bytes_.load(std::memory_order_relaxed) + bytes <= bytes_max_.load(std::memory_order_relaxed);
  }

  // The function returns false when the queue is full and doesn't take the work. It always takes the work that a collection was
  // dropped.
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

  // This function takes the oldest works: at most `count`, and about `bytes` of contents.
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
  // The queue kept only the names of these contents.
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }  // The queue didn't keep these names either.

 private:
  struct Node {
    DedupWork work;
    Node* before;
  };

  // This function moves the pushed works into `work_`, which is empty. The pushed list has the newest work first.
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
  std::deque<DedupWork> work_;  // Only the taker uses these works, which are collected but not yet taken; the oldest is first.
};

}  // namespace storage
