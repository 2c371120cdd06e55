// The hash floor is the part of a load that is hashing: the same bytes are hashed again, with nothing around it.
#pragma once

#include "bench/merkle/records.h"

namespace bench::merkle {

struct HashFloor {
  // the bytes that the load hashes: sections and directories of search nodes, all other nodes whole
  uint64_t bytes = 0, messages = 0;
  double seconds = 0;  // CPU
};
// Measures a load in batches, as Tree::put does it.
HashFloor hash_floor(const siri::IndexOptions& options, const std::vector<Record>& records, size_t batch);

}  // namespace bench::merkle
