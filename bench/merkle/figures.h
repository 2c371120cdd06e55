// `palimpsest bench merkle` puts these into its report.
#pragma once

#include "bench/merkle/records.h"
#include "bench/report/report.h"

namespace bench::merkle {

struct Settings {
  uint64_t records = 160'000;      // of the goals, of latencies and path lengths
  uint64_t records_max = 160'000;  // the largest of the figures by size, which go from 10,000 on and double
  double scale = 0.25;             // of §5.4.2's 40,000 and 160,000 records a group, and of its batches
  size_t operations = 10'000;      // that are timed one by one
  int rounds = 3;
  // These belong to figures 7, 11, 12, 15 and 16.
  bool real_data = true;         // where it is there
  uint64_t text_edits = 20'000;  // of made-up texts
  size_t versions = 300;         // of texts; blocks
  size_t block_transactions = 150;
  std::string scratch = {};  // a folder, for figures 21 and 22
};

// These are the numbers of records of the figures by size, and the overlaps of those by overlap.
std::vector<uint64_t> sizes(const Settings& settings);
std::vector<double> overlaps();

// These are figures 6 to 21 and Table 3 of the paper, and git where 22 has Noms.
void run_experiments(const Settings& settings, Report& report);
// These are parts of it: 13; 7, 11, 12, 15, 16; 19, 20; 21, 22.
void run_breakdown(const Settings& settings, Report& report);
void run_real_data(const Settings& settings, Report& report);
void run_without_properties(const Settings& settings, Report& report);
void run_in_tables(const Settings& settings, Report& report);
// These are the figures to reach.
void run_goals(const Settings& settings, Report& report);

}  // namespace bench::merkle
