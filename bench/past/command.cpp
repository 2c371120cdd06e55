#include "bench/past/command.h"

#include <fmt/core.h>

#include <algorithm>

#include "bench/measure/interrupt.h"
#include "bench/measure/scratch.h"
#include "bench/options.h"
#include "bench/past/figures.h"
#include "bench/sets/command.h"

namespace bench::past {
namespace {

struct Part {
  std::string name;
  void (*run)(const Settings&, Report&);
};
const Part parts[] = {{"page-tables", run_skippy},
                      {"cold-rows", run_cold_spots},
                      {"reads", run_reads},
                      {"queries", run_retro},
                      {"wire", run_over_the_wire}};

struct Arguments {
  Settings settings;
  std::string scratch, server, report_folder;
  bool tiny = false;
};

int run(Arguments& arguments) {
  Settings& settings = arguments.settings;
  if (arguments.tiny)
    settings = {.scratch = {},
                .server = {},
                .rows = 400,
                .node_mappings = 40,
                .mappings_max = 500'000,
                .age_cycles = 3,
                .range = 10,
                .documents = 2'000,
                .rounds = 1,
                .parts = settings.parts};
  clean_up_when_interrupted();
  const Scratch scratch(arguments.scratch);
  settings.scratch = scratch.path();
  const auto wanted = [&](const std::string& name) {
    return settings.parts.empty() || std::find(settings.parts.begin(), settings.parts.end(), name) != settings.parts.end();
  };
  if (wanted("wire")) settings.server = sets::server_of({.server = arguments.server, .scratch = {}, .report_folder = {}});
  Report report;
  report.title = "The past: snapshots and what they cost";
  report.command = fmt::format(
      "palimpsest bench past --rows {} --node {} --mappings-max {} --age-cycles {} --range {} --documents {} --rounds {}",
      settings.rows, settings.node_mappings, settings.mappings_max, settings.age_cycles, settings.range, settings.documents,
      settings.rounds);
  for (const std::string& part : settings.parts) report.command += " --part " + part;
  begin(report);
  for (const Part& part : parts) {
    if (wanted(part.name)) part.run(settings, report);
  }
  finish(report, arguments.report_folder);
  return 0;
}

}  // namespace

Run add_options(CLI::App& parser) {
  auto arguments = std::make_shared<Arguments>();
  Settings& settings = arguments->settings;
  add_report(parser, arguments->report_folder);
  add_scratch(parser, arguments->scratch);
  parser.add_option("--server", arguments->server,
                    "the palimpsestd to start for what is measured through a server (default: beside this program)");
  parser.add_option("--rows", settings.rows, "how many rows the database has")
      ->capture_default_str()
      ->check(CLI::Range(100, 10'000'000));
  parser.add_option("--node", settings.node_mappings, "how many mappings a node of the log has")
      ->capture_default_str()
      ->check(CLI::Range(2, 1'000'000));
  parser
      .add_option("--mappings-max", settings.mappings_max,
                  "the most mappings of one log; measurements that need more are left out")
      ->capture_default_str()
      ->check(CLI::Range(10'000, 1'000'000'000));
  parser.add_option("--age-cycles", settings.age_cycles, "overwrite cycles that snapshots of different ages are taken from")
      ->capture_default_str()
      ->check(CLI::Range(2, 100));
  parser.add_option("--range", settings.range, "how many snapshots are read jointly")
      ->capture_default_str()
      ->check(CLI::Range(2, 100'000));
  parser.add_option("--documents", settings.documents, "how many documents the collection has that is read and written")
      ->capture_default_str()
      ->check(CLI::Range(1'000, 10'000'000));
  parser.add_option("--rounds", settings.rounds, "the rounds of which medians are taken")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  std::vector<std::string> names;
  for (const Part& part : parts) names.push_back(part.name);
  parser.add_option("--part", settings.parts, "measure this part alone; give it again for others")->check(CLI::IsMember(names));
  CLI::Option* const tiny =
      parser.add_flag("--tiny", arguments->tiny, "take a few hundred rows, to see that it works, not how fast");
  for (const char* size : {"--rows", "--node", "--mappings-max", "--age-cycles", "--range", "--documents", "--rounds"})
    tiny->excludes(parser.get_option(size));
  return [arguments] { return run(*arguments); };
}

}  // namespace bench::past
