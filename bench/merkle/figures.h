// What `palimpsest bench merkle` puts into its report.
#pragma once

#include "bench/merkle/records.h"
#include "bench/report/report.h"

namespace bench::merkle {

struct Settings {
  uint64_t records = 160'000;      // of the goals, of latencies and path lengths
  uint64_t records_max = 160'000;  // of the figures by size: 10,000, doubled up to here
  double scale = 0.25;             // of §5.4.2's 40,000 and 160,000 records a group, and of its batches
  size_t operations = 10'000;      // that are timed one by one
  int rounds = 3;
};

// Figures 6, 8, 9, 10, 14, 17 and 18, and Table 3 of the paper.
void run_experiments(const Settings& settings, Report& report);
// The figures to reach.
void run_goals(const Settings& settings, Report& report);

}  // namespace bench::merkle
