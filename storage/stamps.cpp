#include "storage/stamps.h"

#include <algorithm>

#include "base/clock.h"

namespace storage {

Stamp StampSource::advance() {
  const Stamp now = static_cast<Stamp>(clock_.wall_ms() / 1000) << 32;
  // A clock that was set back doesn't turn the order around: the count goes on instead.
  last_ = std::max(last_ + 1, now | 1);
  return last_;
}

Stamp StampSource::first(uint64_t& place) {
  std::lock_guard lock(mutex_);
  const Stamp stamp = advance();
  place = front_place_ + open_.size();
  open_.push_back({stamp, false});
  publish();
  return stamp;
}

// Only for who has a place already: the bound stays where that is.
Stamp StampSource::next() {
  std::lock_guard lock(mutex_);
  return advance();
}

void StampSource::adopt(Stamp stamp, uint64_t& place) {
  std::lock_guard lock(mutex_);
  if (stamp <= last_) return;
  last_ = stamp;
  if (place == 0) {
    place = front_place_ + open_.size();
    open_.push_back({stamp, false});
  }
  publish();
}

void StampSource::release(uint64_t place) {
  std::lock_guard lock(mutex_);
  open_[place - front_place_].done = true;
  while (!open_.empty() && open_.front().done) {
    open_.pop_front();
    ++front_place_;
  }
  publish();
}

void StampSource::publish() {
  all_committed_.store(open_.empty() ? last_ + 1 : open_.front().stamp, std::memory_order_release);
}

Stamp StampSource::last() const {
  std::lock_guard lock(mutex_);
  return last_;
}

void StampSource::raise(Stamp at_least) {
  std::lock_guard lock(mutex_);
  last_ = std::max(last_, at_least);
  publish();
}

}  // namespace storage
