#include "bench/bench.h"

#include "bench/chapter6/command.h"

namespace bench {

const std::vector<Benchmark>& all() {
  static const std::vector<Benchmark> benchmarks = {
      {"dedup", "chapter 6 of dbDedup: each figure and table, the goals, and other programs on the same bytes", chapter6::add_options},
  };
  return benchmarks;
}

}  // namespace bench
