// This shows what a data directory of each set takes, file by file, beside other programs on the same bytes.
#pragma once

#include "bench/benchmark.h"

namespace bench::sizes {

Run add_options(CLI::App& parser);

}  // namespace bench::sizes
