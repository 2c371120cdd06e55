// The write-back cache holds backward deltas until somebody has time to write
// them (dbDedup §4.2.2). It is lossy: a delta that is never written costs space
// alone, so the least valuable ones go when it is full.
#pragma once

#include <cstddef>
#include <map>
#include <unordered_map>
#include <vector>

#include "dedup/encoder.h"

namespace dedup {

// Not thread-safe.
class WritebackCache {
 public:
  explicit WritebackCache(size_t bytes_max) : bytes_max_(bytes_max) {}

  // A newer entry for the same target replaces the older one.
  void put(Backward backward);
  // Up to `count` entries, most saved bytes first; they are yours now.
  std::vector<Backward> take_best(size_t count);
  // The content is no more what it was: drops entries that encode it or build on it.
  void invalidate(const ContentId& id);
  void invalidate_collection(uint32_t collection);
  void clear();
  void set_bytes_max(size_t bytes_max);  // discards what no longer fits

  size_t size() const { return by_target_.size(); }
  size_t bytes() const { return bytes_; }
  uint64_t discarded() const { return discarded_; }              // entries lost to the limit
  uint64_t discarded_bytes() const { return discarded_bytes_; }  // what they would have saved

 private:
  using Order = std::multimap<size_t, Backward>;  // by saved bytes
  Backward remove(Order::iterator entry);
  void shrink();

  size_t bytes_max_;
  size_t bytes_ = 0;
  uint64_t discarded_ = 0;
  uint64_t discarded_bytes_ = 0;
  Order order_;
  std::unordered_map<ContentId, Order::iterator> by_target_;
  std::unordered_multimap<ContentId, ContentId> targets_of_base_;
};

}  // namespace dedup
