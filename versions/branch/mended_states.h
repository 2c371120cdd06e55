// Rebuilds the states of commits after rows of them were lost.
//
//   by rows   each row is the XOR of two states, so a state follows from any other one that a chain of rows leads to
//   by count  the first commit shows every record up to the newest of that time
//   by tree   a commit's hash tree has each document's key and hash, so a state is the records that have these documents
#pragma once

#include "versions/branch/branches.h"

namespace versions {

struct MendedStates {
  uint64_t made = 0;
  std::vector<CommitNumber> lost = {};     // nothing determines the states of these any more
  std::vector<CommitNumber> partial = {};  // these show less than their trees name, whose documents nobody has any more
};

// Looks at all states of one collection, and rebuilds those that can't be read, in transactions of its own. `there` are the
// records that have rows; `holes` is how many ids below the newest record had none when the database got its first branch. Nobody
// else may use the collection meanwhile. It holds some bytes for each state in memory, and 60 bytes for each record if a state
// must be made by its tree; it then reads all records once, and for each such state the whole tree. `interrupted` is called at
// each row, record and key, and may throw.
MendedStates mend_states(storage::Engine& engine, Branches& branches, size_t collection, const std::vector<RecordId>& there,
                         int64_t holes, const std::function<void()>& interrupted);

}  // namespace versions
