// This packs the deltas of a set's histories one by one and in pages, to see whether a store whose pages are compressed gains by
// packing each delta.
#pragma once

#include "bench/data/workload.h"
#include "bench/report/report.h"

namespace bench::sizes {

Table deltas_table();
void add_deltas(const Workload& workload, Table& table);

}  // namespace bench::sizes
