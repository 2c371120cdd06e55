#include "storage/contents/declared_snapshots.h"

#include <algorithm>

namespace storage {
namespace {

constexpr size_t ever_max = 4096;  // beyond those that were not dropped

void insert(std::vector<Stamp>& sorted, Stamp stamp) {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), stamp);
  if (at == sorted.end() || *at != stamp) sorted.insert(at, stamp);
}

Stamp last_below(const std::vector<Stamp>& sorted, Stamp stamp) {
  const auto after = std::lower_bound(sorted.begin(), sorted.end(), stamp);
  return after == sorted.begin() ? 0 : *std::prev(after);
}

}  // namespace

Stamp DeclaredSnapshots::look(Stamp write) const {
  const base::MutexLock lock(mutex_);
  return last_below(left_, write);
}

Stamp DeclaredSnapshots::position_before(Stamp write) const {
  const base::MutexLock lock(mutex_);
  return last_below(ever_, write);
}

Stamp DeclaredSnapshots::declare(const std::function<Stamp()>& take) {
  struct Declaring {
    std::atomic<int>& count;
    explicit Declaring(std::atomic<int>& of) : count(of) { ++count; }
    ~Declaring() { --count; }
  };
  const Declaring declaring(declaring_);
  const base::MutexLock lock(mutex_);
  const Stamp snapshot = take();
  insert(left_, snapshot);
  insert(ever_, snapshot);
  newest_ = left_.back();
  if (ever_.size() > left_.size() + ever_max) {
    // Writers from before the newest half have finished long ago.
    const auto half = ever_.begin() + static_cast<std::ptrdiff_t>(ever_.size() / 2);
    const auto is_gone = [this](Stamp one) REQUIRES(mutex_) { return !std::binary_search(left_.begin(), left_.end(), one); };
    ever_.erase(std::remove_if(ever_.begin(), half, is_gone), half);
  }
  return snapshot;
}

void DeclaredSnapshots::add(Stamp snapshot) {
  const base::MutexLock lock(mutex_);
  insert(left_, snapshot);
  insert(ever_, snapshot);
  newest_ = left_.back();
}

void DeclaredSnapshots::add_dropped(Stamp snapshot) {
  const base::MutexLock lock(mutex_);
  insert(ever_, snapshot);
}

void DeclaredSnapshots::remove(Stamp snapshot) {
  const base::MutexLock lock(mutex_);
  std::erase(left_, snapshot);
  newest_ = left_.empty() ? 0 : left_.back();
}

std::vector<Stamp> DeclaredSnapshots::all() const {
  const base::MutexLock lock(mutex_);
  return left_;
}

void DeclaredSnapshots::clear() {
  const base::MutexLock lock(mutex_);
  left_.clear();
  ever_.clear();
  newest_ = 0;
}

}  // namespace storage
