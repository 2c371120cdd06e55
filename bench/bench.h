// The benchmarks of `palimpsest bench NAME`: each is one function here and a
// folder beside it.
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
  // Adds its options to the parser of its own subcommand; what it returns is run when that was chosen.
  Run (*add_options)(CLI::App& parser);
};

// In the order they are listed.
const std::vector<Benchmark>& all();

}  // namespace bench
