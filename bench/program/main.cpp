// palimpsest is the tool beside the server.
#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>
#include <vector>

#include "bench/bench.h"
#include "client/verbs.h"
#include "console/console.h"
#include "datasets/program/commands.h"

namespace {

// palimpsest bench NAME
void add_benchmarks(CLI::App& app, std::vector<datasets::program::Command>& commands) {
  CLI::App* parser = app.add_subcommand("bench", "measure the parts against the papers they come from");
  parser->require_subcommand(1);
  for (const bench::Benchmark& benchmark : bench::all()) {
    CLI::App* one = parser->add_subcommand(benchmark.name, benchmark.about);
    commands.push_back({one, benchmark.add_options(*one)});
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app{"palimpsest: looks at a document server, backs it up and checks its data, replays data into it, and measures"};
  app.require_subcommand(1);
  std::vector<datasets::program::Command> commands = {
      datasets::program::add_bundle(app),
      datasets::program::add_replay(app),
      datasets::program::add_verify(app),
  };
  console::Command page = console::add_console(app);
  commands.push_back({page.parser, std::move(page.run)});
  add_benchmarks(app, commands);
  for (client::Verb& verb : client::add_verbs(app)) commands.push_back({verb.parser, std::move(verb.run)});
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    constexpr int exit_wrong_arguments = 2;
    return app.exit(wrong) == 0 ? 0 : exit_wrong_arguments;
  }
  try {
    for (const datasets::program::Command& command : commands) {
      if (command.parser->parsed()) return command.run();
    }
  } catch (const CLI::ParseError& wrong) {  // of arguments that don't go together
    std::cerr << "palimpsest: " << wrong.what() << "\n";
    return 2;
  } catch (const std::exception& failed) {
    std::cerr << "palimpsest: " << failed.what() << "\n";
    return 1;
  }
  return 1;
}
