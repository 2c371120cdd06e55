// ReadLimits bounds what a read may cost before the store reports the content as damaged. chain_cut.h keeps everything that is
// written far below these bounds.
#pragma once

#include <atomic>

#include "dedup/decoder.h"
#include "dedup/options.h"

namespace storage {

// This class is thread-safe: every read asks it, and setParameter changes it.
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
