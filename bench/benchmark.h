// A benchmark has a name under `palimpsest bench` and a function that reads its options.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace bench {

using Run = std::function<int()>;  // the exit code

struct Benchmark {
  const char* name;
  const char* about;
  // Adds its options to the parser of its own subcommand; the function that it returns is run when that subcommand was chosen.
  Run (*add_options)(CLI::App& parser);
};

}  // namespace bench
