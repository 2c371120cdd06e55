// `palimpsest bench past` puts these into its report.
#pragma once

#include <string>
#include <vector>

#include "bench/report/report.h"

namespace bench::past {

struct Settings {
  std::string scratch;     // a folder of the run's own
  std::string server;      // the palimpsestd to start
  uint64_t rows = 25'600;  // pages; of 4 KB each they are the paper's 100 MB
  uint32_t node_mappings = 2'560;
  uint64_t mappings_max = 30'000'000;  // updates of an overwrite cycle; longer ones are left out
  uint64_t age_cycles = 6;             // the log that snapshots of different ages are taken from, in overwrite cycles
  size_t range = 100;                  // snapshots that are asked together
  size_t documents = 20'000;           // of a collection that is read and written
  int rounds = 5;
  std::vector<std::string> parts;  // by name; none: all
};

// These are Skippy's tables 1 and 2, its figures' quantities as counts and times, and the goals that are about page tables.
void run_skippy(const Settings& settings, Report& report);
// Measures overwrite cycles where a few rows are hardly ever written.
void run_cold_spots(const Settings& settings, Report& report);
// Measures updates with and without snapshots, and reads as of one.
void run_reads(const Settings& settings, Report& report);
// These are Retro's figures 5 to 7, and WiredTiger's own ways of keeping the past.
void run_retro(const Settings& settings, Report& report);
// Measures updates with and without snapshots, through servers.
void run_over_the_wire(const Settings& settings, Report& report);

}  // namespace bench::past
