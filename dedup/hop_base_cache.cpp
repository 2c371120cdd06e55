#include "dedup/hop_base_cache.h"

namespace dedup {

template <class Change>
void HopBaseCache::change(Shard& shard, const Change& change) {
  const size_t before = shard.contents.cost();
  change(shard.contents);
  bytes_.fetch_add(shard.contents.cost() - before, std::memory_order_relaxed);
}

void HopBaseCache::set_bytes_max(size_t bytes_max) {
  content_bytes_max_ = bytes_max / shards_.size();
  for (Shard& shard : shards_) {
    const base::MutexLock lock(shard.mutex);
    change(shard, [&](auto& contents) { contents.set_cost_max(bytes_max / shards_.size()); });
  }
}

std::shared_ptr<const HopBaseCache::Decoded> HopBaseCache::find(const ContentId& id) {
  if (bytes() == 0) return nullptr;
  Shard& shard = shard_of(id);
  const base::MutexLock lock(shard.mutex);
  const auto* found = shard.contents.get(id);
  if (!found) return nullptr;
  hits_.fetch_add(1, std::memory_order_relaxed);
  return *found;
}

void HopBaseCache::put(const ContentId& id, Decoded decoded) {
  const size_t cost = decoded.content.size();
  auto shared = std::make_shared<const Decoded>(std::move(decoded));
  Shard& shard = shard_of(id);
  const base::MutexLock lock(shard.mutex);
  change(shard, [&](auto& contents) { contents.put(id, std::move(shared), cost); });
}

void HopBaseCache::forget(const ContentId& id) {
  Shard& shard = shard_of(id);
  const base::MutexLock lock(shard.mutex);
  change(shard, [&](auto& contents) { contents.erase(id); });
}

}  // namespace dedup
