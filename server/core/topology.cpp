#include "server/core/topology.h"

namespace server {

int64_t Topology::counter() const {
  const base::MutexLock lock(mutex_);
  return counter_;
}

void Topology::changed() {
  std::map<uint64_t, std::function<void()>> woken;
  {
    const base::MutexLock lock(mutex_);
    ++counter_;
    woken.swap(waiting_);
  }
  for (auto& [number, wake] : woken) wake();
}

uint64_t Topology::on_change(std::function<void()> wake) {
  const base::MutexLock lock(mutex_);
  waiting_.emplace(++last_subscription_, std::move(wake));
  return last_subscription_;
}

void Topology::forget(uint64_t subscription) {
  const base::MutexLock lock(mutex_);
  waiting_.erase(subscription);
}

size_t Topology::waiting() const {
  const base::MutexLock lock(mutex_);
  return waiting_.size();
}

}  // namespace server
