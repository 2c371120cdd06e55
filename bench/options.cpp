#include "bench/options.h"

#include <fmt/core.h>

#include <cstdlib>
#include <iostream>
#include <thread>

namespace bench {
namespace {

// Returns the kernel's load average of one minute.
double load_average() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : -1;
}

}  // namespace

void add_report(CLI::App& parser, std::string& folder) {
  parser.add_option("--report", folder, "write report.txt, report.json and report.html into this folder");
}
void add_scratch(CLI::App& parser, std::string& folder) {
  parser.add_option("--scratch", folder, "where temporary folders go (default: TMPDIR)");
}

void publish(const Report& report, const std::string& folder) {
  if (!folder.empty()) write_all(folder, report);
  std::cout << as_text(report);
}

void begin(Report& report) {
  report.about.emplace_back("machine",
                            fmt::format("{} threads, load {:.1f} before", std::thread::hardware_concurrency(), load_average()));
}

void finish(Report& report, const std::string& folder) {
  report.about.emplace_back("load", fmt::format("{:.1f} after", load_average()));
  publish(report, folder);
}

}  // namespace bench
