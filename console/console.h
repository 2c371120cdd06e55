// `palimpsest console` serves a web page for people who would rather look at a server than type commands.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace console {

struct Command {
  CLI::App* parser;
  std::function<int()> run;
};

// Adds the subcommand. `run` serves until SIGINT or SIGTERM, and returns the exit code.
Command add_console(CLI::App& app);

}  // namespace console
