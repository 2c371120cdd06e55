#include "bench/merkle/command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "bench/merkle/figures.h"
#include "bench/sets/command.h"

namespace bench::merkle {

namespace {

struct Arguments {
  Settings settings;
  std::string report_folder;
  bool tiny = false, goals_only = false;
};

int run(Arguments& arguments) {
  Settings& settings = arguments.settings;
  if (arguments.tiny) settings = {.records = 2'000, .records_max = 2'000, .scale = 0.01, .operations = 200, .rounds = 1};
  Report report;
  report.title = "Hash trees: indexes of immutable data";
  report.command = fmt::format("palimpsest bench merkle --records {} --records-max {} --scale {}", settings.records, settings.records_max, settings.scale);
  sets::begin(report);
  if (!arguments.goals_only) run_experiments(settings, report);
  run_goals(settings, report);
  report.about.emplace_back("load", fmt::format("{:.1f} after", sets::load_average()));
  if (!arguments.report_folder.empty()) write_all(arguments.report_folder, report);
  std::cout << as_text(report);
  return 0;
}

}  // namespace

Run add_options(CLI::App& parser) {
  auto arguments = std::make_shared<Arguments>();
  Settings& settings = arguments->settings;
  parser.add_option("--report", arguments->report_folder, "write report.txt, report.json and report.html into this folder");
  parser.add_option("--records", settings.records, "of 256 B, of the figures to reach, latencies and path lengths")->capture_default_str()->check(CLI::Range(1'000, 20'000'000));
  parser.add_option("--records-max", settings.records_max, "of the figures by size: 10,000, doubled up to here")->capture_default_str()->check(CLI::Range(1'000, 20'000'000));
  parser.add_option("--scale", settings.scale, "of 40,000 and 160,000 records a group, and batches of 4,000")->capture_default_str()->check(CLI::Range(0.001, 10.0));
  parser.add_option("--operations", settings.operations, "of each workload of figures 6 and 10")->capture_default_str()->check(CLI::Range(100, 10'000'000));
  parser.add_option("--rounds", settings.rounds, "of which medians are taken")->capture_default_str()->check(CLI::Range(1, 100));
  parser.add_flag("--goals", arguments->goals_only, "the figures to reach alone");
  parser.add_flag("--tiny", arguments->tiny, "a few thousand records: that it works, not how fast");
  return [arguments] { return run(*arguments); };
}

}  // namespace bench::merkle
