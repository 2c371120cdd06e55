// The write-back cache holds backward deltas until the server has time to write them (dbDedup §4.2.2). It
// is lossy: a delta that is never written costs space alone, so the least valuable ones go when it is
// full.
#pragma once

#include <cstddef>
#include <map>
#include <unordered_map>
#include <vector>

#include "dedup/encoder.h"

namespace dedup {

// The cache isn't thread-safe.
class WritebackCache {
 public:
  explicit WritebackCache(size_t bytes_max) : bytes_max_(bytes_max) {}

  // A newer entry for the same target replaces the older one.
  void put(Backward backward);
  // Returns up to `count` entries, most saved bytes first, and gives them to the caller.
  std::vector<Backward> take_best(size_t count);
  // Drops entries that encode the content or build on it, when it isn't what it was any more.
  void invalidate(const ContentId& id);
  void invalidate_collection(uint32_t collection);
  void clear();
  void set_bytes_max(size_t bytes_max);  // discards what no longer fits

  size_t size() const { return by_target_.size(); }
  size_t bytes() const { return bytes_; }
  uint64_t discarded() const { return discarded_; }              // entries lost to the limit
  uint64_t discarded_bytes() const { return discarded_bytes_; }  // bytes that they would have saved

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
