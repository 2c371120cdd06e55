// `palimpsest bench branches` puts these into its report.
#pragma once

#include <string>
#include <vector>

#include "bench/branches/dataset.h"
#include "bench/report/report.h"

namespace bench::branches {

struct Settings {
  std::string scratch;  // a folder of the run's own
  std::string server;   // the palimpsestd to start
  std::vector<size_t> branches{10, 50};
  size_t operations = 20'000;
  size_t commit_every = 1'000;
  size_t documents = 100'000;  // the documents of the goals' collection
  size_t many_branches = 20'000;
  size_t many_commits = 10'000;
  size_t git_records = 2'000, git_commits = 100;
  int rounds = 3;
};

// These are figures 6 to 10, tables 2 to 5, and the goal that is about layouts.
void run_layouts(const Settings& settings, Report& report);
// These are tables 6 and 7.
void run_beside_git(const Settings& settings, Report& report);
// Measures how long clients wait, on a server of its own.
void run_over_the_wire(const Settings& settings, Report& report);
// Measures what branches, commits, reads, differences and merges cost on one collection.
void run_goals(const Settings& settings, Report& report);

}  // namespace bench::branches
