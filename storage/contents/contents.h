// The contents of all collections of a store share this state.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "dedup/hop_base_cache.h"
#include "storage/contents/declared_snapshots.h"
#include "storage/contents/read_limits.h"
#include "storage/contents/unreadable_range.h"

namespace storage {

class Engine;
class PageCompressors;
class PreStates;

// All members are thread-safe.
struct Contents {
  Contents(Engine& the_engine, PageCompressors& compressors, std::string default_profile)
      : engine(the_engine), page_compressors(compressors), profile(std::move(default_profile)) {}

  Engine& engine;
  PageCompressors& page_compressors;
  const std::string profile;  // for collections that have no profile of their own
  ReadLimits read_limits;
  dedup::HopBaseCache hop_bases{dedup::Options{}.hop_base_cache_bytes};
  DeclaredSnapshots snapshots;
  UnreadableRanges unreadable_ranges;
  // This object keeps what declared snapshots show; nullptr: no snapshot was ever declared.
  std::atomic<PreStates*> pre_states{nullptr};
};

}  // namespace storage
