// How dedup starts: what the configuration says of it.
#pragma once

#include <cstdint>
#include <string>

namespace storage {

struct DedupSettings {
  bool enabled = true;
  std::string profile = "balanced";    // balanced, thesis, archive
  uint64_t queue_bytes = 32ull << 20;  // contents waiting to be encoded; beyond it only their ids wait
  uint64_t source_cache_bytes = 32ull << 20;
  uint64_t write_back_bytes = 8ull << 20;
  uint64_t index_bytes_max = 64ull << 20;  // feature index, per database
};

}  // namespace storage
