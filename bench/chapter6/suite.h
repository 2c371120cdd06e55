// What the figures share: the workloads, the report they write into, and how
// much is to be done.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/data/workload.h"
#include "bench/report/report.h"

namespace bench::chapter6 {

struct Settings {
  std::set<std::string> figures;      // wanted; empty: none
  bool goals = false;
  uint64_t bytes_max = UINT64_MAX;    // of each workload
  uint64_t tuning_bytes_max = 128ull << 20;  // where a figure runs a workload many times
  double round_seconds = 2;           // of one turn of a server under load
  int rounds = 5;
  bool slow_peers = true;             // git gc --aggressive, zstd -19
  WorkloadOptions data;
  std::vector<std::string> histories; // git repositories to measure beside `versions`
  std::string scratch;                // where temporary folders go; empty: TMPDIR
  std::string server;                 // the palimpsestd to start; empty: figures that need one are left out, and say so
  bool quiet = false;
};

class Suite {
 public:
  Suite(const Settings& settings, Report& report) : settings(settings), report(report) {}

  // As the data lies, or in the order it was written. Loaded once.
  const Workload& in_file_order(const std::string& name);
  const Workload& by_time(const std::string& name);
  // A sample of it, by time, for figures that run it many times.
  const Workload& tuning(const std::string& name);
  void let_go(const std::string& name);

  // "6.1"; appended to the report in the order of calls.
  Figure& figure(const std::string& number, const std::string& title);
  void goal(Goal goal) { report.goals.push_back(std::move(goal)); }
  void claim(Claim claim) { report.claims.push_back(std::move(claim)); }
  // Progress, on stderr.
  void say(const std::string& line) const;

  const Settings settings;
  Report& report;

 private:
  std::map<std::string, Workload> file_order_, by_time_, tuning_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

// The thesis's four workloads.
inline constexpr const char* four[] = {"wiki", "mail", "stackexchange", "boards"};

// A figure, or several that one measurement gives. Each adds its own to the report.
struct Experiment {
  std::vector<std::string> figures;
  void (*run)(Suite& suite);
};
// In the order they are run.
const std::vector<Experiment>& experiments();

}  // namespace bench::chapter6
