// Looks through a collection's chains for contents that are kept for others
// alone, so that they go whether or not a read ever meets them: what a time-to-live
// deletes must not pin space for ever.
//
// A pass goes over the whole table in slices of a bounded number of rows, each in
// a transaction of its own. Nothing leads from a content to those based on it, so
// a pass gathers them, and hands a dead content on once it has them all.
#pragma once

#include <map>
#include <vector>

#include "storage/contents/chain_store.h"

namespace storage {

// One collection's sweep. Not thread-safe.
class DeadSweep {
 public:
  // What can be spliced out now. May be of the past already: `splice_out` looks again.
  struct Found {
    ChainKey dead;
    std::vector<ChainKey> dependents;
  };
  struct Slice {
    std::vector<Found> found;
    size_t rows = 0;  // that were looked at
  };
  // Looks at up to `rows_max` rows more. Afterwards `at_end` tells whether a pass is over; the next call begins another.
  Slice look(const ChainStore& store, Transaction& transaction, size_t rows_max);
  bool at_end() const { return from_.empty(); }

 private:
  struct Waiting {
    uint64_t references = 0;
    std::vector<ChainKey> dependents;
  };
  // A pass that met more than this leaves the rest to the next one.
  static constexpr size_t waiting_max = 20'000;

  Bytes from_;  // the key to go on from; empty: from the beginning
  std::map<ChainKey, Waiting> waiting_;
  size_t waiting_dependents_ = 0;
};

}  // namespace storage
