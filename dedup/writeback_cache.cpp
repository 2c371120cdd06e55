#include "dedup/writeback_cache.h"

namespace dedup {

namespace {

// The nodes of the three maps take about this.
constexpr size_t entry_overhead_bytes = 320;

size_t cost(const Backward& backward) {
  return backward.delta.size() + entry_overhead_bytes;
}

}  // namespace

void WritebackCache::put(Backward backward) {
  if (auto older = by_target_.find(backward.target); older != by_target_.end()) {
    // The target still takes the bytes from before the older entry, which was never written.
    backward.saved_bytes = std::max(backward.saved_bytes, older->second->second.saved_bytes);
    remove(older->second);
  }
  bytes_ += cost(backward);
  const ContentId target = backward.target;
  targets_of_base_.emplace(backward.base, target);
  const size_t saved = backward.saved_bytes;
  by_target_.emplace(target, order_.emplace(saved, std::move(backward)));
  shrink();
}

void WritebackCache::set_bytes_max(size_t bytes_max) {
  bytes_max_ = bytes_max;
  shrink();
}

void WritebackCache::shrink() {
  while (bytes_ > bytes_max_) {
    ++discarded_;
    discarded_bytes_ += remove(order_.begin()).saved_bytes;
  }
}

std::vector<Backward> WritebackCache::take_best(size_t count) {
  std::vector<Backward> best;
  best.reserve(std::min(count, size()));
  while (best.size() < count && !order_.empty()) best.push_back(remove(std::prev(order_.end())));
  return best;
}

void WritebackCache::invalidate(const ContentId& id) {
  if (auto entry = by_target_.find(id); entry != by_target_.end()) remove(entry->second);
  for (auto one = targets_of_base_.find(id); one != targets_of_base_.end(); one = targets_of_base_.find(id))
    remove(by_target_.at(one->second));
}

void WritebackCache::invalidate_collection(uint32_t collection) {
  for (auto entry = order_.begin(); entry != order_.end();) {
    const auto next = std::next(entry);
    if (entry->second.target.collection == collection) remove(entry);
    entry = next;
  }
}

void WritebackCache::clear() {
  order_.clear();
  by_target_.clear();
  targets_of_base_.clear();
  bytes_ = 0;
}

Backward WritebackCache::remove(Order::iterator entry) {
  Backward backward = std::move(entry->second);
  bytes_ -= cost(backward);
  by_target_.erase(backward.target);
  auto [first, last] = targets_of_base_.equal_range(backward.base);
  for (; first != last; ++first)
    if (first->second == backward.target) {
      targets_of_base_.erase(first);
      break;
    }
  order_.erase(entry);
  return backward;
}

}  // namespace dedup
