// These are the subcommands of `palimpsest`, one a file. Each adds itself to the parser and returns a function, which runs when
// the subcommand was chosen and returns the exit code.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace datasets::program {

using Run = std::function<int()>;

struct Command {
  CLI::App* parser;
  Run run;
};

Command add_bundle(CLI::App& app);
Command add_replay(CLI::App& app);
Command add_verify(CLI::App& app);

}  // namespace datasets::program
