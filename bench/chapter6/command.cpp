#include "bench/chapter6/command.h"

#include <fmt/core.h>
#include <sys/utsname.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <thread>

#include "bench/chapter6/suite.h"
#include "bench/measure/interrupt.h"
#include "bench/options.h"
#include "bench/peers/programs.h"

namespace bench::chapter6 {
namespace {

struct Arguments {
  bool all = false, quick = false, tiny = false, goals = false, synthetic = false;
  std::vector<std::string> figures, goal_groups;
  std::string report_folder, data;
  uint64_t sample_mb = 0;  // 0: everything
  Settings settings;
};

std::vector<std::string> names_of(const std::vector<Experiment>& all) {
  std::vector<std::string> names;
  for (const Experiment& experiment : all) names.push_back(experiment.name);
  return names;
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  utsname name{};
  return uname(&name) == 0 ? name.machine : "unknown";
}

std::string server_beside_this_program() {
  std::error_code ignored;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "palimpsestd";
  return std::filesystem::exists(beside, ignored) ? beside.string() : "";
}

void choose(Arguments& arguments) {
  Settings& settings = arguments.settings;
  settings.figures.insert(arguments.figures.begin(), arguments.figures.end());
  settings.goals.insert(arguments.goal_groups.begin(), arguments.goal_groups.end());
  if (arguments.all) {
    for (const std::string& name : names_of(experiments())) settings.figures.insert(name);
  }
  if (arguments.all || arguments.goals) {
    for (const std::string& name : names_of(goals())) settings.goals.insert(name);
  }
  if (arguments.quick || arguments.tiny) {
    settings.bytes_max = arguments.tiny ? 1 << 20 : 8 << 20;
    settings.tuning_bytes_max = settings.bytes_max;
    settings.round_seconds = arguments.tiny ? 0.05 : 0.4;
    settings.rounds = arguments.tiny ? 1 : 3;
    settings.data.synthetic_bytes = settings.bytes_max;
  }
  if (arguments.sample_mb) settings.bytes_max = arguments.sample_mb << 20;
  if (settings.server.empty()) settings.server = server_beside_this_program();
  if (arguments.synthetic)
    settings.data.data.reset();
  else
    settings.data.data = arguments.data.empty() ? find_data() : arguments.data;
}

int run(Arguments& arguments) {
  choose(arguments);
  Settings& settings = arguments.settings;
  if (settings.figures.empty() && settings.goals.empty()) {
    std::cerr << "palimpsest bench dedup: nothing to do: --all, --goals, --goal GROUP or --figure N\n";
    return 2;
  }
  clean_up_when_interrupted();
  Report report;
  report.title = "dbDedup, chapter 6";
  report.command = fmt::format("palimpsest bench dedup{}{}", arguments.all ? " --all" : "",
                               arguments.tiny    ? " --tiny"
                               : arguments.quick ? " --quick"
                                                 : "") +
                   (arguments.goals ? " --goals" : "");
  for (const std::string& figure : arguments.figures) report.command += " --figure " + figure;
  for (const std::string& group : arguments.goal_groups) report.command += " --goal " + group;
  report.about.emplace_back("machine", fmt::format("{}, {} threads", processor(), std::thread::hardware_concurrency()));
  report.about.emplace_back("beside", fmt::format("{}; {}; xdelta3 as a library", git_version(), zstd_version()));
  if (arguments.sample_mb) report.command += fmt::format(" --sample-mb {}", arguments.sample_mb);
  if (arguments.quick || arguments.tiny || arguments.sample_mb)
    report.about.emplace_back("sample", "of each workload a small part: the figures are not those of the whole");

  Suite suite(settings, report);
  const auto keep = [&] {  // writes what there is, should the rest fail
    if (!arguments.report_folder.empty()) write_all(arguments.report_folder, report);
  };
  for (const Experiment& experiment : experiments()) {
    if (!settings.figures.contains(experiment.name)) continue;
    suite.say("figure " + experiment.name);
    experiment.run(suite);
    keep();
  }
  for (const Experiment& group : goals()) {
    if (!settings.goals.contains(group.name)) continue;
    suite.say("goals: " + group.name);
    group.run(suite);
    keep();
  }
  std::cout << as_text(report);
  return 0;
}

}  // namespace

Run add_options(CLI::App& parser) {
  auto arguments = std::make_shared<Arguments>();
  Settings& settings = arguments->settings;
  parser.add_flag("--all", arguments->all, "measure every figure and table, and the goals");
  parser.add_option("--figure", arguments->figures, "measure these alone: 6.1 … 6.12, T4.1, T6.1, T6.2")
      ->check(CLI::IsMember(names_of(experiments())));
  parser.add_flag("--goals", arguments->goals, "measure the figures to reach");
  parser.add_option("--goal", arguments->goal_groups, "measure one group of them: sizes, detection, speed, reads, load, restart")
      ->check(CLI::IsMember(names_of(goals())));
  parser.add_flag("--quick", arguments->quick, "take a small sample of each workload: two or three minutes for --all");
  parser.add_flag("--tiny", arguments->tiny, "take a few hundred records of each, to see that it works");
  parser.add_option("--sample-mb", arguments->sample_mb, "the most MB of each workload")->check(CLI::PositiveNumber);
  add_report(parser, arguments->report_folder);
  parser.add_option("--data", arguments->data,
                    "the folder with the data sets wiki, enron, stackexchange, boards, versions (default: "
                    "shared/datasets above the working directory or this program; what isn't there is made up)");
  parser.add_flag("--synthetic", arguments->synthetic,
                  "use made-up data with the numbers of table 6.1, even where there is real data");
  parser.add_option("--history", settings.histories, "git repositories whose histories are measured beside `versions`");
  parser.add_option("--server", settings.server,
                    "the palimpsestd to start for figures that need one (default: beside this program)");
  add_scratch(parser, settings.scratch);
  parser.add_flag("--quiet", settings.quiet, "show no progress");
  return [arguments] { return run(*arguments); };
}

}  // namespace bench::chapter6
