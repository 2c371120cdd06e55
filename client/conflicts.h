// Verbs that merge share these: their options, and how they show conflicts.
#pragma once

#include <string>

#include "bson/builder.h"
#include "bson/document.h"

namespace CLI {
class App;
}

namespace client {

class Connection;
struct Target;

// The exit code of a verb that changed nothing, since there are conflicts.
inline constexpr int exit_conflicts = 3;

// The options --mode, --resolve and --dry-run.
struct MergeOptions {
  std::string mode, resolve;
  bool dry_run = false;

  enum class Manual : bool { no, yes };  // conflicts may wait for somebody to decide them
  // `nothing` is what happens if there are conflicts: "nothing is merged".
  void add_options(CLI::App& verb, Manual manual, const std::string& nothing);
  void append_to(bson::Builder& command) const;  // all but the dry run
};

// Runs a command that changes nothing if there are conflicts. Then it runs it once more as a dry run, since a script wants the
// conflicts as that shows them. A terminal shows meanwhile how far the server is; `what` names the step.
bson::Document run_or_show_conflicts(const Target& target, Connection& server, const bson::Document& command,
                                     const std::string& what, bool dry_run);

// Prints the conflicts of a command's reply as a table, if it has any.
void print_conflicts(bson::DocumentView reply);

}  // namespace client
