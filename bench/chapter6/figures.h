// The figures and tables of dbDedup's chapter 6, one function each.
#pragma once

#include "bench/chapter6/suite.h"

namespace bench::chapter6 {

void ratio_and_index_memory(Suite& suite);  // 6.1, and what other programs make of the same bytes

}  // namespace bench::chapter6
