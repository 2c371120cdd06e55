// `palimpsest bench branches` is the versioning benchmark of Decibel, with the figures to reach.
#pragma once

#include "bench/benchmark.h"

namespace bench::branches {

Run add_options(CLI::App& parser);

}  // namespace bench::branches
