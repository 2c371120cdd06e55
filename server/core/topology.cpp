#include "server/core/topology.h"

namespace server {

int64_t Topology::counter() const {
  std::lock_guard lock(mutex_);
  return counter_;
}

void Topology::changed() {
  std::map<uint64_t, std::function<void()>> woken;
  {
    std::lock_guard lock(mutex_);
    ++counter_;
    woken.swap(waiting_);
  }
  for (auto& [number, wake] : woken) wake();
}

uint64_t Topology::on_change(std::function<void()> wake) {
  std::lock_guard lock(mutex_);
  waiting_.emplace(++last_subscription_, std::move(wake));
  return last_subscription_;
}

void Topology::forget(uint64_t subscription) {
  std::lock_guard lock(mutex_);
  waiting_.erase(subscription);
}

size_t Topology::waiting() const {
  std::lock_guard lock(mutex_);
  return waiting_.size();
}

}  // namespace server
