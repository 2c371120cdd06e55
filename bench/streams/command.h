// This is `palimpsest bench streams`.
#pragma once

#include "bench/benchmark.h"

namespace bench::streams {

Run add_options(CLI::App& parser);

}  // namespace bench::streams
