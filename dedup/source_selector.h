// The selector ranks the contents that share features with a new one, as sources to encode against (dbDedup §3.3, Algorithm
// 2).
#pragma once

#include <vector>

#include "dedup/metadata_log.h"
#include "dedup/options.h"

namespace dedup {

struct Candidate {
  MetadataPointer pointer;
  ContentId id;
  Placement placement;
  uint32_t shared;       // features in common
  bool cached;           // in the source cache
  bool superseded;       // not the newest of its chain
  bool kin;              // of the same lineage, or neither's is known
  bool named;            // of the same lineage, which is known
  uint32_t delta_bytes;  // its bytes as the delta that it is by now; 0: it is whole
  uint8_t demoted_below;
};

// Ranks the candidates, best first: those of the new content's own lineage, then by score. A score is features in common, a
// reward for being in the source cache, and one for being the newest of its chain: only that one is still kept whole, so only it
// saves anything when it is encoded. Among equals the one encoded last wins. Where sources get the new content as base
// (OverlapPolicy::re_encode), the newest of the own lineage comes first: continuing an older one would begin the lineage's chain
// again, and each new beginning adds a chain's hops to reads of what lies below.
void rank(std::vector<Candidate>& candidates, const Options& options);

// Returns why the candidate at `place` would be taken.
Choice choice_of(const std::vector<Candidate>& ranked, size_t place, const Options& options);

}  // namespace dedup
