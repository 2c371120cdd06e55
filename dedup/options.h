// All of dedup's choices are options, and stand here.
//
// `thesis` is dbDedup as published (Xu, "Online Deduplication for Databases",
// chapters 3-5); `balanced` is what measures better on the same ideas;
// `archive` spends CPU and hops for space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "dedup/delta.h"

namespace dedup {

enum class Profile : uint8_t { balanced, thesis, archive };

enum class SketchMethod : uint8_t {
  windows,       // every 16-byte window hashed: up to 4 super-features and the smallest hashes
  gear_chunks,   // gear chunking, xxh3 of each chunk, the K largest
  rabin_chunks,  // Rabin chunking, MurmurHash of each chunk, the K largest (§3.1)
};

enum class IndexLayout : uint8_t {
  two_slots,  // a feature's entries are in one of two slots: entries can be moved and erased
  published,  // 16 hash functions, looked through until there is an empty bucket (§5.2)
};

enum class OverlapPolicy : uint8_t {
  keep,       // a source that already has a base keeps it, unless much is saved
  re_encode,  // it gets the new content as base (§4.1.1)
};

// This says how the older contents of a chain are kept (§4.1.2, Table 4.1).
enum class EncodingScheme : uint8_t {
  hop,              // against the next, every H-th of each level against the level's next too
  version_jumping,  // against the next, but the last of every H stays whole
  backward,         // against the next
};

// A change of a field marked [index] makes everything indexed useless; the others can change at any time.
struct Options {
  static Options of(Profile profile);

  bool enabled = true;

  // Sketch (§3.1)
  SketchMethod sketch_method = SketchMethod::windows;  // [index]
  uint32_t features_max = 12;                          // at most 16
  uint32_t content_bytes_min = 128;                    // shorter contents cost in the index what they save
  uint32_t chunk_bytes = 64;                           // [index] average, a power of two; chunking methods only

  // Feature index and its metadata (§5.2)
  IndexLayout index_layout = IndexLayout::two_slots;
  size_t index_bytes_max = 256 << 20;    // beyond it, what was indexed longest ago goes
  uint32_t index_bytes_per_record = 12;  // for live entries, on average over all contents encoded; the features of older
                                         // contents go for it, down to two each; with a lineage's, four stay from the
                                         // start. 0: all stay; two_slots only
  uint32_t matches_per_feature = 2;      // at most 8
  size_t metadata_cache_bytes = 8 << 20;

  // Source selection (§3.3)
  uint32_t cache_reward = 2;
  uint32_t head_reward = 2;    // for a content that is still the newest of its chain
  uint32_t sources_tried = 4;  // fetched and compared before giving up; at most 8
  OverlapPolicy overlap = OverlapPolicy::keep;

  // Delta (§3.4, §5.3)
  DeltaMethod delta_method = DeltaMethod::resync;
  uint32_t anchor_interval = 64;  // a power of two from 1 to 4096; anchors only
  uint32_t worth_percent = 60;    // a delta above this share of its content is not kept; above a quarter, the head
                                  // that it replaces is demoted instead of superseded, as far as that is allowed

  // Chains (§4.1.2)
  EncodingScheme encoding = EncodingScheme::hop;
  uint32_t hop_distance = 16;                  // H, also of version jumping; at least 2
  uint32_t hop_levels_max = 8;                 // above, no hop bases are kept
  size_t read_bytes_max = 256 << 20;           // contents made to read the oldest of a chain, and the deltas applied for it, at
  uint32_t read_hops_max = 4096;               // worst: beyond, some contents stay whole. For whoever keeps the chains
  uint32_t decode_hops_max = 1 << 20;          // a read that would take more hops or bytes, or make a longer content,
  size_t decode_bytes_max = size_t{4} << 30;   // has met damage and is refused. For whoever reads; `validate` allows
  size_t decode_content_bytes_max = 32 << 20;  // nothing below what the limits above let grow
  uint32_t demotion_depth_max = 2;             // how many demoted heads may be based on each other; 0: no head is demoted
  uint32_t demotion_worth_percent = 60;        // as worth_percent, for a head that is demoted
  uint32_t demote_after_secs = 0;              // a head that was neither written nor read for so long is demoted; 0: none is. For
                                               // whoever calls `demote`, who knows what is read
  bool demote_lineages = false;  // also heads whose lineage is known: else the newest of each reads without a decode

  // Caches (§4.2)
  size_t source_cache_bytes = 32 << 20;
  size_t writeback_cache_bytes = 8 << 20;
  size_t hop_base_cache_bytes = 16 << 20;  // for whoever reads

  // Governor (§4.3.1)
  double governor_ratio_min = 1.1;
  uint64_t governor_window = 100'000;       // contents; 0: never turns off
  uint64_t governor_probe_contents = 1000;  // while off, about so many of each window are tried, by chain; 0: stays off

  // Size filter (§4.3.2)
  bool size_filter_always = false;  // else only while the caller reports pressure
  uint32_t size_filter_percentile = 40;
  uint32_t size_filter_refresh = 1000;  // contents
};

// Returns the options, or BadValue with a message that names the one that is out of its range.
base::Result<Options> validate(const Options& options);

// Tells whether the index must be made anew when `before` becomes `after`.
bool invalidates_index(const Options& before, const Options& after);

}  // namespace dedup
