// These are the benchmarks of `palimpsest bench NAME`. Each is one line in bench.cpp and a folder beside it.
#pragma once

#include <vector>

#include "bench/benchmark.h"

namespace bench {

// Returns all benchmarks in the order in which they are listed.
const std::vector<Benchmark>& all();

}  // namespace bench
