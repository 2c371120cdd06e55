// A run of deltas applied at once.
//
//   delta 1: content 1 -> content 0     asked for
//   delta 2: content 2 -> content 1
//   ...
//   delta n: source    -> content n-1
//
// The first delta says which bytes it brings itself and which lie where in
// content 1; those ranges are looked up in the second delta, and so on down, until
// every byte lies in a delta or in the source. Then the bytes are copied, once:
// contents in between are never made, and a read of many small edits costs
// little more than the content's length.
//
// Edits that are all over the place break the ranges into ever smaller ones. So
// a run ends where that would cost more than making the content in between; and of
// short contents each is made, which takes less time than a look at its delta.
#pragma once

#include <span>

#include "base/result.h"
#include "dedup/content.h"

namespace dedup {

struct DeltaLink {
  BytesView delta;
  size_t content_bytes = 0;  // of what it makes; another length is damage
};

// Contents made in between, that nobody asked for.
struct ChainBudget {
  size_t made_bytes_max = SIZE_MAX;
  size_t made_bytes = 0;
  bool exceeded = false;
};

// What applying them one after the other gives. `links` from the content asked
// for down to the one that is based on `source`; none: the source itself. Fails as
// `apply` does, and where the budget does not suffice.
base::Result<Bytes> apply_chain(BytesView source, std::span<const DeltaLink> links, ChainBudget* budget = nullptr);

// The same into a buffer that is used again; neither the source nor a delta may lie in it. On failure `out` holds anything.
std::optional<base::Failure> apply_chain_to(Bytes& out, BytesView source, std::span<const DeltaLink> links,
                                            ChainBudget* budget = nullptr);

}  // namespace dedup
