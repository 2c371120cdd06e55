#include "bench/sets/command.h"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <thread>

namespace bench::sets {

void add_common(CLI::App& parser, Common& common) {
  parser.add_option("--server", common.server, "the palimpsestd to start (default: beside this program)");
  parser.add_option("--scratch", common.scratch, "where temporary folders go (default: TMPDIR)");
  parser.add_option("--report", common.report_folder, "write report.txt, report.json and report.html into this folder");
}

std::string server_of(const Common& common) {
  if (!common.server.empty()) return common.server;
  std::error_code ignored;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "palimpsestd";
  if (!std::filesystem::exists(beside, ignored)) throw std::runtime_error("there is no palimpsestd beside this program, and --server names none");
  return beside.string();
}

double load_average() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : -1;
}

void begin(Report& report) {
  report.about.emplace_back("machine", fmt::format("{} threads, load {:.1f} before", std::thread::hardware_concurrency(), load_average()));
}

void publish(const Report& report, const Common& common) {
  if (!common.report_folder.empty()) write_all(common.report_folder, report);
  std::cout << as_text(report);
}

}  // namespace bench::sets
