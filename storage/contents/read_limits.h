// What a read may take before what it reads is called damaged. Beside chain_cut.h, which sees to it that nothing is
// written that comes near.
#pragma once

#include <atomic>

#include "dedup/decoder.h"
#include "dedup/options.h"

namespace storage {

// Thread-safe: asked by every read, changed by setParameter.
class ReadLimits {
 public:
  void set(const dedup::Options& options) {
    hops_.store(options.decode_hops_max, std::memory_order_relaxed);
    bytes_.store(options.decode_bytes_max, std::memory_order_relaxed);
    content_bytes_.store(options.decode_content_bytes_max, std::memory_order_relaxed);
  }
  dedup::DecodeLimits get() const {
    return {.hops_max = hops_.load(std::memory_order_relaxed),
            .chain_bytes_max = bytes_.load(std::memory_order_relaxed),
            .output_bytes_max = content_bytes_.load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<uint32_t> hops_{dedup::Options{}.decode_hops_max};
  std::atomic<size_t> bytes_{dedup::Options{}.decode_bytes_max};
  std::atomic<size_t> content_bytes_{dedup::Options{}.decode_content_bytes_max};
};

}  // namespace storage
