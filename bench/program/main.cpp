// palimpsest is the tool beside the server.
#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>
#include <vector>

#include "bench/bench.h"
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
  CLI::App app{"palimpsest: replays data into a document server, checks what came of it, and measures"};
  app.require_subcommand(1);
  std::vector<datasets::program::Command> commands = {
      datasets::program::add_replay(app),
      datasets::program::add_verify(app),
  };
  add_benchmarks(app, commands);
  CLI11_PARSE(app, argc, argv);
  try {
    for (const datasets::program::Command& command : commands) {
      if (command.parser->parsed()) return command.run();
    }
  } catch (const std::exception& failed) {
    std::cerr << "palimpsest: " << failed.what() << "\n";
    return 1;
  }
  return 1;
}
