// This is `palimpsest bench wire`.
#pragma once

#include "bench/benchmark.h"

namespace bench::wire {

Run add_options(CLI::App& parser);

}  // namespace bench::wire
