// The figures share the suite: the workloads, the report that they write into, and how much is to be
// done.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/data/stored.h"
#include "bench/data/workload.h"
#include "bench/report/report.h"

namespace bench::chapter6 {

struct Settings {
  std::set<std::string> figures;             // wanted; empty: none
  std::set<std::string> goals;               // wanted groups of them
  uint64_t bytes_max = UINT64_MAX;           // of each workload
  uint64_t tuning_bytes_max = 128ull << 20;  // where a figure runs a workload many times
  double round_seconds = 2;                  // of one turn of a server under load
  int rounds = 5;
  WorkloadOptions data;
  std::vector<std::string> histories;  // git repositories to measure beside `versions`
  std::string scratch;                 // where temporary folders go; empty: TMPDIR
  std::string server;                  // the palimpsestd to start; empty: figures that need one are left out, and say so
  bool quiet = false;
};

class Suite {
 public:
  Suite(const Settings& settings, Report& report) : settings(settings), report(report) {}

  // Returns a workload as the data lies, or in the order in which it was written. It is loaded once.
  const Workload& in_file_order(const std::string& name);
  const Workload& by_time(const std::string& name);
  // Returns a sample of it, by time, for figures that run it many times.
  const Workload& tuning(const std::string& name);

  // Returns what it takes in a data directory. It is loaded once for each choice.
  enum class Order { file, time };
  const StoredSizes& stored(const std::string& name, Order order, const StoredOptions& options);
  // Returns git's pack of its records, and zstd's -19 --long=31 of the whole. Both are made once.
  struct Peers {
    uint64_t git_bytes = 0, zstd_19_bytes = 0;
  };
  const Peers& peers(const Workload& workload);

  // Adds a figure such as "6.1"; the report has them in the order of calls.
  Figure& figure(const std::string& number, const std::string& title);
  void goal(Goal goal) { report.goals.push_back(std::move(goal)); }
  void claim(Claim claim) { report.claims.push_back(std::move(claim)); }
  // Writes progress to stderr.
  void say(const std::string& line) const;

  const Settings settings;
  Report& report;

 private:
  std::map<std::string, Workload> file_order_, by_time_, tuning_;
  std::map<std::string, StoredSizes> stored_;  // by name, order and options
  std::map<std::string, Peers> peers_;         // by name
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

// These are the thesis's four workloads.
inline constexpr const char* four[] = {"wiki", "mail", "stackexchange", "boards"};

// An experiment makes a figure, a table or a group of goals, and adds it with its claims to the report.
struct Experiment {
  std::string name;
  void (*run)(Suite& suite);
};
// They are run in this order.
const std::vector<Experiment>& experiments();

// These measure the rows of the figures to reach, a group each.
const std::vector<Experiment>& goals();

}  // namespace bench::chapter6
