#include "server/core/write_claims.h"

namespace server {

std::shared_ptr<void> WriteClaims::claim(std::vector<WriteClaim> records) {
  {
    const base::MutexLock lock(mutex_);
    for (const WriteClaim& record : records) claimed_.insert(record);
    count_.store(claimed_.size(), std::memory_order_release);
  }
  return {nullptr, [this, records = std::move(records)](void*) {
            const base::MutexLock lock(mutex_);
            for (const WriteClaim& record : records) claimed_.erase(record);
            count_.store(claimed_.size(), std::memory_order_release);
          }};
}

bool WriteClaims::look(const WriteClaim& record) const {
  const base::MutexLock lock(mutex_);
  return claimed_.contains(record);
}

}  // namespace server
