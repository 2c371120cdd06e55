// Three-way merge: what theirs changed since the base, into ours.
#pragma once

#include "versions/merkle/index.h"

namespace versions::merkle {

// A key that both sides changed since the base, not to the same.
struct Conflict {
  BytesView key;
  std::optional<BytesView> base, ours, theirs;  // nullopt: not there
};

// What the key is to have.
struct Selected {
  bool decided = false;
  std::optional<Bytes> value;  // nullopt: is not there
};
// The selection strategy (§4.1.4).
using Select = std::function<Selected(const Conflict&)>;
Selected select_neither(const Conflict& conflict);
Selected select_ours(const Conflict& conflict);
Selected select_theirs(const Conflict& conflict);

struct Merged {
  std::optional<Hash> root;      // nullopt: conflicts, and no node was written
  std::vector<Bytes> conflicts;  // keys that were not decided
};

Merged merge(const Index& index, Nodes& nodes, const Hash& base, const Hash& ours, const Hash& theirs, const Select& select);

}  // namespace versions::merkle
