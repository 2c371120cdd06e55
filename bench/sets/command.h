// Benchmarks of replica sets: real servers, started for it.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "bench/bench.h"
#include "bench/report/report.h"

namespace bench::sets {

Run add_bandwidth(CLI::App& parser);  // dbDedup Figure 6.5, on lines shaped by tc
Run add_shards(CLI::App& parser);     // dbDedup Table 6.2, on pairs of servers
Run add_fail_over(CLI::App& parser);  // compression in the inserts after the primary was lost (dbDedup §6.6)
Run add_majority(CLI::App& parser);   // writes acknowledged by the majority, beside consensus alone

// What they share.
struct Common {
  std::string server, scratch, report_folder;
};
void add_common(CLI::App& parser, Common& common);
// The server to start: the one asked for, or the one beside this program. Throws std::runtime_error where there is none.
std::string server_of(const Common& common);
// Machine and load, then printed, and written where that was asked for.
void begin(Report& report);
void publish(const Report& report, const Common& common);

// The load of one minute, as the kernel has it.
double load_average();

}  // namespace bench::sets
