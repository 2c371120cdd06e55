// Each benchmark of `palimpsest bench NAME` is one function here and a folder beside
// it.
#pragma once

#include <functional>
#include <vector>

namespace CLI {
class App;
}

namespace bench {

using Run = std::function<int()>;  // the exit code

struct Benchmark {
  const char* name;
  const char* about;
  // Adds its options to the parser of its own subcommand, and returns a function, which runs when that was chosen.
  Run (*add_options)(CLI::App& parser);
};

// The benchmarks are listed in this order.
const std::vector<Benchmark>& all();

}  // namespace bench
