// Rebuilds hash trees of commits after nodes were lost: a tree follows from the documents that its commit shows.
#pragma once

#include "versions/branch/branches.h"

namespace versions {

struct MendedTrees {
  uint64_t made = 0;
  // These commits' trees still have damaged nodes: documents are lost, or the tree's kind is. Commits behind them go on with a
  // tree of what is left.
  std::vector<CommitNumber> lost = {};
};

// Looks at the trees of one collection in all commits, each node once, and rebuilds those that can't be read, in transactions
// of its own. `now` is the kind of the collection's next trees. A tree that was made beside the one that a commit names is
// removed if it is damaged, since it is made when it is needed. Nobody else may drop commits, or purge documents, meanwhile. It
// holds the hash of each node in memory, and what Branches::TreePart says. `interrupted` is called at each node, and may throw.
MendedTrees mend_trees(storage::Engine& engine, Branches& branches, size_t collection, const TreeKind& now,
                       const std::function<void()>& interrupted);

}  // namespace versions
