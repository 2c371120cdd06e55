// This is `palimpsest bench past`.
#pragma once

#include "bench/benchmark.h"

namespace bench::past {

Run add_options(CLI::App& parser);

}  // namespace bench::past
