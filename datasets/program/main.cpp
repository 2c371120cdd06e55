// palimpsest: the tool beside the server.
#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>

#include "datasets/program/commands.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app{"palimpsest: replays data into a document server, and checks what came of it"};
  app.require_subcommand(1);
  const datasets::program::Command commands[] = {
      datasets::program::add_replay(app),
      datasets::program::add_verify(app),
  };
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
