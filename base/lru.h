// An LruMap is bounded by cost and forgets the entries that were least recently used.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <unordered_map>
#include <utility>

namespace base {

// `cost` is in a unit of the caller's, usually bytes. The map isn't thread-safe.
template <class Key, class Value, class Hash = std::hash<Key>>
class Lru {
 public:
  explicit Lru(size_t cost_max) : cost_max_(cost_max) {}

  // Returns the value, which is now the most recently used, or nullptr on a miss. The pointer is valid until the next put or
  // erase.
  Value* get(const Key& key) {
    auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return &found->second->value;
  }
  const Value* peek(const Key& key) const {
    auto found = index_.find(key);
    return found == index_.end() ? nullptr : &found->second->value;
  }
  bool contains(const Key& key) const { return index_.count(key) != 0; }

  // An entry that costs more than the whole budget is not kept.
  void put(const Key& key, Value value, size_t cost) {
    erase(key);
    if (cost > cost_max_) return;
    order_.push_front(Entry{key, std::move(value), cost});
    index_.emplace(key, order_.begin());
    cost_ += cost;
    shrink();
  }
  bool erase(const Key& key) {
    auto found = index_.find(key);
    if (found == index_.end()) return false;
    cost_ -= found->second->cost;
    order_.erase(found->second);
    index_.erase(found);
    return true;
  }
  void clear() {
    order_.clear();
    index_.clear();
    cost_ = 0;
  }
  void set_cost_max(size_t cost_max) {
    cost_max_ = cost_max;
    shrink();
  }

  size_t cost() const { return cost_; }
  size_t size() const { return index_.size(); }

 private:
  struct Entry {
    Key key;
    Value value;
    size_t cost;
  };
  void shrink() {
    while (cost_ > cost_max_) {
      cost_ -= order_.back().cost;
      index_.erase(order_.back().key);
      order_.pop_back();
    }
  }

  size_t cost_max_;
  size_t cost_ = 0;
  std::list<Entry> order_;
  std::unordered_map<Key, typename std::list<Entry>::iterator, Hash> index_;
};

}  // namespace base
