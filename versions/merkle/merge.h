// A three-way merge applies to ours what theirs changed since the base.
#pragma once

#include "versions/merkle/index.h"

namespace versions::merkle {

// A Conflict is a key to which both sides gave different values since the base.
struct Conflict {
  BytesView key;
  std::optional<BytesView> base, ours, theirs;  // nullopt: that side doesn't have the key
};

// The value that the key gets.
struct Selected {
  bool decided = false;
  std::optional<Bytes> value;  // nullopt: the key is removed
};
// Select is the selection strategy (§4.1.4).
using Select = std::function<Selected(const Conflict&)>;
Selected select_neither(const Conflict& conflict);
Selected select_ours(const Conflict& conflict);
Selected select_theirs(const Conflict& conflict);

struct Merged {
  std::optional<Hash> root;      // nullopt: there were conflicts, and no node was written
  std::vector<Bytes> conflicts;  // the keys that nobody decided
};

Merged merge(const Index& index, Nodes& nodes, const Hash& base, const Hash& ours, const Hash& theirs, const Select& select);

}  // namespace versions::merkle
