// The configuration sets these options of dedup at the server's start.
#pragma once

#include <cstdint>
#include <string>

namespace storage {

struct DedupSettings {
  bool enabled = true;
  std::string profile = "balanced";    // The profile is balanced, thesis or archive.
  uint64_t queue_bytes = 32ull << 20;  // This bounds the contents that wait to be encoded; beyond it only their ids wait.
  uint64_t source_cache_bytes = 32ull << 20;
  uint64_t write_back_bytes = 8ull << 20;
  uint64_t index_bytes_max = 64ull << 20;  // This bounds the feature index of each database.
};

}  // namespace storage
