// Whether what is stored of a commit is what its id says.
#pragma once

#include "versions/branch/branches.h"

namespace versions {

struct Damage {
  std::optional<size_t> collection = {};  // nullopt: the commit's own row, or one that leads to it
  std::optional<Hash> node = {};          // of the collection's tree
  Bytes key = {};                         // else of a document
  std::string what;
};

struct Verification {
  struct Collection {
    bool said = false;  // the id says something of it
    Hash root{};
    uint64_t nodes = 0, documents = 0;  // that were read
    uint64_t purged = 0;                // of which the hash alone is left
    bool whole_tree = true;             // no node is damaged
  };
  std::vector<Collection> collections;  // as Branches has them
  std::vector<Damage> damage;           // the first of it
  uint64_t damaged = 0;                 // all of it
};

// The commit's own rows, and the root node of each tree; `deep`: all nodes, and all documents that the trees name. Nothing is
// taken from memory. `interrupted` is asked at each node, and may throw. At most `damage_max` are told. Throws nothing for what
// is damaged.
Verification verify(Transaction& transaction, Branches& branches, CommitNumber commit, bool deep, size_t damage_max,
                    const std::function<void()>& interrupted);

}  // namespace versions
