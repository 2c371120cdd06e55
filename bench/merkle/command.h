// This is `palimpsest bench merkle`.
#pragma once

#include "bench/benchmark.h"

namespace bench::merkle {

Run add_options(CLI::App& parser);

}  // namespace bench::merkle
