// This is `palimpsest bench query`.
#pragma once

#include "bench/benchmark.h"

namespace bench::queries {

Run add_options(CLI::App& parser);

}  // namespace bench::queries
