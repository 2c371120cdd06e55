// `palimpsest merge` merges a branch, tag or commit into a branch.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "client/conflicts.h"
#include "client/connection.h"
#include "client/table.h"
#include "client/verbs.h"

namespace client {
namespace {

struct Arguments {
  Target target;
  std::string from, message, author;
  MergeOptions options;
};

bson::Document command_of(const Arguments& arguments) {
  bson::Builder command;
  command.append("merge", arguments.from);
  arguments.options.append_to(command);
  if (!arguments.message.empty()) command.append("message", arguments.message);
  if (!arguments.author.empty()) command.append("author", arguments.author);
  return command.done();
}

int report(const Arguments& arguments, bson::DocumentView reply) {
  const int64_t conflicts = reply["conflictCount"].to_int64();
  const bool stays = conflicts > 0 && (arguments.options.dry_run || !reply.has("merging"));
  if (arguments.target.json) {
    print_json(std::cout, reply);
  } else if (conflicts > 0) {
    std::cout << count_text(conflicts) << (conflicts == 1 ? " conflict" : " conflicts");
    if (reply["merging"].truthy()) std::cout << "; the merge waits until they are resolved";
    std::cout << "\n";
    print_conflicts(reply);
  } else if (arguments.options.dry_run) {
    std::cout << "no conflicts\n";
  } else if (!reply["changed"].truthy()) {
    std::cout << "nothing to merge from " << printable(arguments.from) << "\n";
  } else {
    std::cout << "merged " << printable(arguments.from) << " into " << printable(text_of(reply["branch"])) << ", at "
              << short_id(reply["commit"]) << "\n";
  }
  return stays || reply["merging"].truthy() ? exit_conflicts : 0;
}

int run(const Arguments& arguments) {
  Connection server(arguments.target);
  return report(arguments,
                run_or_show_conflicts(arguments.target, server, command_of(arguments), "merging", arguments.options.dry_run));
}

}  // namespace

Verb add_merge(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("merge", "merge a branch, tag or commit into a branch");
  arguments->target.add_options(*verb, "the database, or its branch, that is merged into: shop@dev");
  verb->add_option("from", arguments->from, "the branch, tag or commit whose changes are merged")->required();
  arguments->options.add_options(*verb, MergeOptions::Manual::yes, "nothing is merged");
  verb->add_option("--message,-m", arguments->message, "of the commit");
  verb->add_option("--author", arguments->author, "of the commit");
  verb->footer("Exit codes: 0 merged, or nothing to merge; 1 refused or failed; 2 wrong arguments; 3 there are conflicts.");
  return {verb, [arguments] { return run(*arguments); }};
}

}  // namespace client
