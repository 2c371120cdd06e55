// Checks whether what is stored of a commit is what its id says.
#pragma once

#include "versions/branch/branches.h"

namespace versions {

struct Damage {
  std::optional<size_t> collection = {};  // nullopt: the damage is in the commit's own row, or in one that leads to it
  std::optional<Hash> node = {};          // the damaged node of the collection's tree
  Bytes key = {};                         // else the key of the damaged document
  std::string what;
};

struct Verification {
  struct Collection {
    bool has_root = false;  // whether the commit's id names a root of the collection
    Hash root{};
    uint64_t nodes = 0, documents = 0;  // how many were read
    uint64_t purged = 0;                // documents of which only the hash is left
    bool whole_tree = true;             // whether no node is damaged
  };
  std::vector<Collection> collections;  // in the order of Branches
  std::vector<Damage> damage;           // the first cases
  uint64_t damaged = 0;                 // the number of all cases
};

// Checks the commit's own rows and the root node of each tree; with `deep` also all nodes, and all documents that the trees name.
// It reads everything from the tables. `interrupted` is called at each node, and may throw. At most `damage_max` cases of damage
// are listed; damage itself throws nothing.
Verification verify(Transaction& transaction, Branches& branches, CommitNumber commit, bool deep, size_t damage_max,
                    const std::function<void()>& interrupted);

}  // namespace versions
