// A dead sweep looks through a collection's chains for dead contents, which are kept only because deltas are based on them. It
// finds them even if no read ever meets them, so that documents that a time-to-live index deletes don't use space for ever.
//
// A pass goes over the whole table in slices of a bounded number of rows, and each slice has its own transaction. No row leads
// from a content to the contents based on it. So a pass collects those, and returns a dead content once it has found all of them.
#pragma once

#include <map>
#include <vector>

#include "storage/contents/chain_store.h"

namespace storage {

// An object is the sweep of one collection. It is not thread-safe.
class DeadSweep {
 public:
  // This is a dead content that can be spliced out. It may be out of date already; `splice_out` checks again.
  struct Found {
    ChainKey dead;
    std::vector<ChainKey> dependents;
  };
  struct Slice {
    std::vector<Found> found;
    size_t rows = 0;  // This is the number of rows that the sweep looked at.
  };
  // This function looks at up to `rows_max` more rows. Afterwards `at_end` returns whether the pass is over; the next call then
  // begins another pass.
  Slice look(const ChainStore& store, Transaction& transaction, size_t rows_max);
  bool at_end() const { return from_.empty(); }

 private:
  struct Waiting {
    uint64_t references = 0;
    std::vector<ChainKey> dependents;
  };
  // A pass that met more than this number leaves the rest to the next pass.
  static constexpr size_t waiting_max = 20'000;

  Bytes from_;  // The next slice begins at this key; an empty key means the beginning.
  std::map<ChainKey, Waiting> waiting_;
  size_t waiting_dependents_ = 0;
};

}  // namespace storage
