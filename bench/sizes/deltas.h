// Deltas of a set's histories, packed one by one and in pages: whether a store whose pages are compressed gains by packing each
// delta.
#pragma once

#include "bench/data/workload.h"
#include "bench/report/report.h"

namespace bench::sizes {

Table deltas_table();
void add_deltas(const Workload& workload, Table& table);

}  // namespace bench::sizes
