// The cache keeps hop bases that reads came through, decoded. A read of a neighbour begins there and
// applies the deltas of its own hop alone; the deltas from there to the newest of the chain are fewer, but
// span more versions and take most of the time (dbDedup §4.1.2, §4.2.1, where they are cached for
// encoding).
//
//   newest ... <--- hop base <--- hop base <- content <- content <- asked for
//   \___ applied once, then cached ____/
//
// Contents never change under their names. A reader checks its result all the same, and drops the hop base that gave a wrong
// one.
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "base/lru.h"
#include "base/mutex.h"
#include "dedup/content.h"

namespace dedup {

// The cache is thread-safe.
class HopBaseCache {
 public:
  struct Decoded {
    Bytes content;
    uint32_t hops;       // that it took, and
    size_t chain_bytes;  // read and made for the cache
  };

  explicit HopBaseCache(size_t bytes_max) { set_bytes_max(bytes_max); }
  void set_bytes_max(size_t bytes_max);
  // Contents of more than an eighth of the whole cache are not kept.
  bool keeps(size_t content_bytes) const { return content_bytes <= content_bytes_max_.load(std::memory_order_relaxed); }

  std::shared_ptr<const Decoded> find(const ContentId& id);  // nullptr on a miss
  void put(const ContentId& id, Decoded decoded);
  void forget(const ContentId& id);

  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }

 private:
  struct Shard {
    base::Mutex mutex;
    base::Lru<ContentId, std::shared_ptr<const Decoded>> contents GUARDED_BY(mutex){0};
  };
  Shard& shard_of(const ContentId& id) { return shards_[std::hash<ContentId>()(id) * 0x9e3779b97f4a7c15ull >> 61]; }
  template <class Change>
  void change(Shard& shard, const Change& change) REQUIRES(shard.mutex);

  std::array<Shard, 8> shards_;
  std::atomic<size_t> bytes_{0}, content_bytes_max_{0};
  std::atomic<uint64_t> hits_{0};
};

}  // namespace dedup
