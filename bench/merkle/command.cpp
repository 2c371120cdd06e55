#include "bench/merkle/command.h"

#include <fmt/core.h>

#include "bench/measure/scratch.h"
#include "bench/merkle/figures.h"
#include "bench/options.h"

namespace bench::merkle {

namespace {

struct Arguments {
  Settings settings;
  std::string report_folder, scratch;
  bool tiny = false, goals_only = false;
};

int run(Arguments& arguments) {
  Settings& settings = arguments.settings;
  if (arguments.tiny)
    settings = {.records = 2'000,
                .records_max = 2'000,
                .scale = 0.01,
                .operations = 200,
                .rounds = 1,
                .real_data = false,
                .text_edits = 300,
                .versions = 20,
                .block_transactions = 20};
  clean_up_when_interrupted();
  const Scratch scratch(arguments.scratch);
  settings.scratch = scratch.path();
  Report report;
  report.title = "Hash trees: indexes of immutable data";
  report.command = fmt::format("palimpsest bench merkle --records {} --scale {} --operations {} --rounds {}", settings.records,
                               settings.scale, settings.operations, settings.rounds);
  report.command += arguments.goals_only ? " --goals" : fmt::format(" --records-max {}", settings.records_max);
  begin(report);
  if (!arguments.goals_only) run_experiments(settings, report);
  run_goals(settings, report);
  finish(report, arguments.report_folder);
  return 0;
}

}  // namespace

Run add_options(CLI::App& parser) {
  auto arguments = std::make_shared<Arguments>();
  Settings& settings = arguments->settings;
  add_report(parser, arguments->report_folder);
  add_scratch(parser, arguments->scratch);
  parser
      .add_option("--records", settings.records,
                  "how many records of 256 B the figures to reach, latencies and path lengths have")
      ->capture_default_str()
      ->check(CLI::Range(1'000, 20'000'000));
  parser
      .add_option("--records-max", settings.records_max,
                  "the most records of the figures by size, which begin with 10,000 and double")
      ->capture_default_str()
      ->check(CLI::Range(1'000, 20'000'000));
  parser.add_option("--scale", settings.scale, "the factor on 40,000 and 160,000 records a group, and batches of 4,000")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 10.0));
  parser.add_option("--operations", settings.operations, "the operations of each workload of figures 6 and 10")
      ->capture_default_str()
      ->check(CLI::Range(100, 10'000'000));
  parser.add_option("--rounds", settings.rounds, "the rounds of which medians are taken")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  parser.add_flag("--goals", arguments->goals_only, "measure the figures to reach alone")
      ->excludes(parser.get_option("--records-max"));
  CLI::Option* const tiny =
      parser.add_flag("--tiny", arguments->tiny, "take a few thousand records, to see that it works, not how fast");
  for (const char* size : {"--records", "--records-max", "--scale", "--operations", "--rounds"})
    tiny->excludes(parser.get_option(size));
  return [arguments] { return run(*arguments); };
}

}  // namespace bench::merkle
