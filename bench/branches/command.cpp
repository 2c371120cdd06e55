#include "bench/branches/command.h"

#include <fmt/core.h>

#include "bench/branches/figures.h"
#include "bench/measure/scratch.h"
#include "bench/options.h"
#include "bench/peers/programs.h"
#include "bench/sets/command.h"

namespace bench::branches {

namespace {

struct Arguments {
  Settings settings;
  std::string scratch, server, report_folder;
  bool tiny = false, no_git = false, goals_only = false, wire_only = false;
};

int run(Arguments& arguments) {
  Settings& settings = arguments.settings;
  if (arguments.tiny) {
    settings = {.scratch = {},
                .server = {},
                .branches = {6},
                .operations = 700,
                .commit_every = 40,
                .documents = 200,
                .many_branches = 230,
                .many_commits = 230,
                .git_records = 60,
                .git_commits = 20,
                .rounds = 1};
  }
  clean_up_when_interrupted();
  const Scratch scratch(arguments.scratch);
  settings.scratch = scratch.path();
  settings.server = sets::server_of({.server = arguments.server, .scratch = {}, .report_folder = {}});
  Report report;
  report.title = "Branches: the versioning benchmark";
  report.command = fmt::format(
      "palimpsest bench branches --operations {} --commit-every {} --documents {} --many-branches {} --many-commits {}",
      settings.operations, settings.commit_every, settings.documents, settings.many_branches, settings.many_commits);
  begin(report);
  if (!arguments.no_git) report.about.emplace_back("git", git_version());
  if (!arguments.goals_only && !arguments.wire_only) {
    run_layouts(settings, report);
    if (!arguments.no_git) run_beside_git(settings, report);
  }
  if (!arguments.wire_only) run_goals(settings, report);
  run_over_the_wire(settings, report);
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
                    "the palimpsestd to start for what is measured over the wire (default: beside this program)");
  parser.add_option("--branches", settings.branches, "the numbers of branches of the generated data, one run each")
      ->capture_default_str()
      ->check(CLI::Range(2, 1000));
  parser.add_option("--operations", settings.operations, "inserts and updates of 1 KB records, over all branches")
      ->capture_default_str()
      ->check(CLI::Range(100, 100'000'000));
  parser.add_option("--commit-every", settings.commit_every, "how many operations on a branch make a commit")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  parser.add_option("--documents", settings.documents, "how many documents the collection has that the goals are measured on")
      ->capture_default_str()
      ->check(CLI::Range(100, 100'000'000));
  parser.add_option("--many-branches", settings.many_branches, "how many branches of it the goals make")
      ->capture_default_str()
      ->check(CLI::Range(200, 10'000'000));
  parser.add_option("--many-commits", settings.many_commits, "how many commits on it the goals make")
      ->capture_default_str()
      ->check(CLI::Range(200, 10'000'000));
  parser.add_option("--git-records", settings.git_records, "how many operations git gets")
      ->capture_default_str()
      ->check(CLI::Range(20, 1'000'000));
  parser.add_option("--git-commits", settings.git_commits, "in how many commits git gets them")
      ->capture_default_str()
      ->check(CLI::Range(10, 100'000));
  parser.add_flag("--no-git", arguments->no_git, "don't measure git");
  parser.add_flag("--goals", arguments->goals_only, "measure the figures to reach alone, without the data sets and git");
  parser.add_flag("--wire", arguments->wire_only, "measure only what clients see over the wire");
  CLI::Option* const tiny =
      parser.add_flag("--tiny", arguments->tiny, "take a few hundred records, to see that it works, not how fast");
  for (const char* size : {"--branches", "--operations", "--commit-every", "--documents", "--many-branches", "--many-commits",
                           "--git-records", "--git-commits"}) {
    tiny->excludes(parser.get_option(size));
  }
  return [arguments] { return run(*arguments); };
}

}  // namespace bench::branches
