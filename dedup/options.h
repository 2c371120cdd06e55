// Every choice dedup makes, in one place.
//
// `thesis` is dbDedup as published (Xu, "Online Deduplication for Databases",
// chapters 3-5); `balanced` is what measures better on the same ideas;
// `archive` spends CPU and hops for space.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dedup/delta.h"

namespace dedup {

enum class Profile : uint8_t { balanced, thesis, archive };

enum class SketchMethod : uint8_t {
  windows,       // every 16-byte window hashed: 4 super-features and 4 smallest hashes
  gear_chunks,   // gear chunking, xxh3 of each chunk, the K largest
  rabin_chunks,  // Rabin chunking, MurmurHash of each chunk, the K largest (§3.1)
};

enum class OverlapPolicy : uint8_t {
  keep,       // a source that already has a base keeps it, unless much is saved
  re_encode,  // it gets the new content as base (§4.1.1)
};

struct Options {
  static Options of(Profile profile);

  bool enabled = true;

  // Sketch (§3.1)
  SketchMethod sketch_method = SketchMethod::windows;
  uint32_t features_max = 8;            // at most 16
  uint32_t content_bytes_min = 128;     // shorter contents cost in the index what they save
  uint32_t chunk_bytes = 64;  // average; chunking methods only

  // Feature index and its metadata (§5.2)
  size_t index_bytes_max = 256 << 20;
  uint32_t matches_per_feature = 2;
  size_t metadata_cache_bytes = 8 << 20;

  // Source selection (§3.3)
  uint32_t cache_reward = 2;
  uint32_t head_reward = 2;     // for a content that is still the newest of its chain
  uint32_t sources_tried = 3;   // fetched and compared before giving up
  OverlapPolicy overlap = OverlapPolicy::keep;

  // Delta (§3.4, §5.3)
  DeltaMethod delta_method = DeltaMethod::resync;
  uint32_t anchor_interval = 64;
  uint32_t worth_percent = 60;  // a delta above this share of its content is not kept

  // Hop encoding (§4.1.2); 0: plain backward encoding
  uint32_t hop_distance = 16;

  // Caches (§4.2)
  size_t source_cache_bytes = 32 << 20;
  size_t writeback_cache_bytes = 8 << 20;

  // Governor (§4.3.1)
  double governor_ratio_min = 1.1;
  uint64_t governor_window = 100'000;      // contents; 0: never turns off
  uint64_t governor_probe_contents = 1000; // while off, so many of each window are tried; 0: stays off

  // Size filter (§4.3.2)
  bool size_filter_always = false;         // else only while the caller reports pressure
  uint32_t size_filter_percentile = 40;
  uint32_t size_filter_refresh = 1000;     // contents
};

}  // namespace dedup
