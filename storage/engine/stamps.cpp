#include "storage/engine/stamps.h"

#include <algorithm>

#include "base/clock.h"

namespace storage {

// If the clock was set back, the order still holds: the count goes on instead.
Stamp StampSource::after(Stamp last) const {
  const Stamp now = static_cast<Stamp>(clock_.wall_ms() / 1000) << 32;
  return std::max(last + 1, now | 1);
}

void StampSource::open(StampRange& range, Stamp stamp) {
  range.place = front_place_ + open_.size();
  open_.push_back({stamp, false});
  publish();
}

Stamp StampSource::next(StampRange& range, uint64_t expected) {
  if (range.next < range.end) return range.next++;
  const base::MutexLock lock(mutex_);
  if (range.place == 0) {
    range.first = range.next = after(last_);
    last_ = range.next + std::max<uint64_t>(1, expected) - 1;
    open(range, range.first);
  } else {
    if (last_ != range.end - 1) return 0;
    last_ += std::max<uint64_t>(1, range.end - range.first);  // it reserves twice as many
  }
  range.end = last_ + 1;
  return range.next++;
}

void StampSource::adopt(Stamp stamp, StampRange& range) {
  if (range.first == 0 || stamp < range.first) range.first = stamp;
  const base::MutexLock lock(mutex_);
  if (stamp <= last_) return;
  last_ = stamp;
  range.next = range.end = stamp + 1;
  if (range.place == 0) {
    open(range, stamp);
  } else {
    publish();
  }
}

Stamp StampSource::apart() {
  const base::MutexLock lock(mutex_);
  apart_ = after(apart_);
  return apart_;
}

void StampSource::release(uint64_t place) {
  const base::MutexLock lock(mutex_);
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

uint64_t StampSource::transactions() const {
  const base::MutexLock lock(mutex_);
  return front_place_ + open_.size() - 1;
}

Stamp StampSource::last() const {
  const base::MutexLock lock(mutex_);
  return last_;
}

void StampSource::raise(Stamp at_least) {
  const base::MutexLock lock(mutex_);
  last_ = std::max(last_, at_least);
  publish();
}

}  // namespace storage
