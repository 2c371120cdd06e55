// A chain of deltas is applied at once.
//
//   delta 1: content 1 -> content 0     asked for
//   delta 2: content 2 -> content 1
//   ...
//   delta n: source    -> content n-1
//
// The first delta says which bytes it contains itself and which lie where in
// content 1; those ranges are looked up in the second delta, and so on down, until
// every byte lies in a delta or in the source. Then the bytes are copied, once:
// contents in between are never made, and a read of many small edits costs
// little more than the content's length.
//
// Edits that are all over the place break the ranges into ever smaller ones. So a run ends where that would cost more
// than making the content in between; and every short content is made, which takes less time than a look at its
// delta.
#pragma once

#include <span>

#include "base/result.h"
#include "dedup/content.h"

namespace dedup {

struct DeltaLink {
  BytesView delta;
  size_t content_bytes = 0;  // the length of what it makes; another length is damage
};

// The number of contents made in between, which nobody asked for.
struct ChainBudget {
  size_t made_bytes_max = SIZE_MAX;
  size_t made_bytes = 0;
  bool exceeded = false;
};

// Returns what applying the deltas one after the other gives. `links` go from the content asked for down to the one that
// is based on `source`; without links the result is the source. Fails as `apply` does, and where the budget doesn't
// suffice.
base::Result<Bytes> apply_chain(BytesView source, std::span<const DeltaLink> links, ChainBudget* budget = nullptr);

// Does the same into a buffer that is used again; neither the source nor a delta may lie in it. On failure `out` holds anything.
std::optional<base::Failure> apply_chain_to(Bytes& out, BytesView source, std::span<const DeltaLink> links,
                                            ChainBudget* budget = nullptr);

}  // namespace dedup
