// `palimpsest bench dedup` runs dbDedup's chapter 6 as a command.
#pragma once

#include "bench/benchmark.h"

namespace bench::chapter6 {

Run add_options(CLI::App& parser);

}  // namespace bench::chapter6
