// Pairs are records and their true predecessors, the best that a search can find.
#pragma once

#include <vector>

#include "bench/data/workload.h"

namespace bench::chapter6 {

struct Pair {
  BytesView before, after;  // borrowed from the workload
};

// Returns every record whose group has an earlier one, both within the bounds; at most `count`, spread evenly.
std::vector<Pair> pairs(const Workload& workload, size_t bytes_min, size_t bytes_max, size_t count);

// predecessor[i] is the place of the record before i in its group, -1 for the first.
std::vector<int64_t> predecessors(const Workload& workload);

inline uint64_t bytes_of(const std::vector<Pair>& pairs) {
  uint64_t bytes = 0;
  for (const Pair& pair : pairs) bytes += pair.after.size();
  return bytes;
}

}  // namespace bench::chapter6
