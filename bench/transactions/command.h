// This is `palimpsest bench transactions`.
#pragma once

#include "bench/benchmark.h"

namespace bench::transactions {

Run add_options(CLI::App& parser);

}  // namespace bench::transactions
