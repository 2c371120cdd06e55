// These are the subcommands for the command line, one a file in verbs/. Each adds itself to the parser and returns a function,
// which runs when the subcommand was chosen and returns the exit code.
#pragma once

#include <functional>
#include <vector>

namespace CLI {
class App;
}

namespace client {

struct Verb {
  CLI::App* parser;
  std::function<int()> run;  // throws std::exception, which says what failed; the exit code is 1 then
};

Verb add_advise(CLI::App& app);
Verb add_apply(CLI::App& app);
Verb add_backup(CLI::App& app);
Verb add_branch(CLI::App& app);
Verb add_check(CLI::App& app);
Verb add_clone(CLI::App& app);
Verb add_diff(CLI::App& app);
Verb add_log(CLI::App& app);
Verb add_merge(CLI::App& app);
Verb add_restore(CLI::App& app);
Verb add_snapshot(CLI::App& app);
Verb add_stash(CLI::App& app);
Verb add_stats(CLI::App& app);
Verb add_top(CLI::App& app);

// All of them, in the order of --help.
std::vector<Verb> add_verbs(CLI::App& app);

}  // namespace client
