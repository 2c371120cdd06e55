// This is `palimpsest bench remotes`.
#pragma once

#include "bench/benchmark.h"

namespace bench::remotes {

Run add_options(CLI::App& parser);

}  // namespace bench::remotes
