// These are the four queries of the versioning benchmark (Decibel §4.3), on a loaded data set.
#pragma once

#include "bench/branches/dataset.h"

namespace bench::branches {

constexpr size_t queries = 4;

// Runs query 1 to 4 once and returns what it found, so that layouts can be compared.
struct Found {
  uint64_t records = 0;
  uint64_t sum = 0;  // a hash over what was read, whatever its order
  bool operator==(const Found&) const = default;
};
Found run_query(Dataset& data, size_t query);

}  // namespace bench::branches
