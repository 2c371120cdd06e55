// `palimpsest merge` merges a branch, tag or commit into a branch.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "client/conflicts.h"
#include "client/connection.h"
#include "client/table.h"
#include "client/verbs.h"
#include "client/watched.h"

namespace client {
namespace {

struct Arguments {
  Target target;
  std::string from, mode, resolve, message, author;
  bool dry_run = false;
};

bson::Document command_of(const Arguments& arguments, bool dry_run) {
  bson::Builder command;
  command.append("merge", arguments.from);
  if (!arguments.mode.empty()) command.append("mode", arguments.mode);
  if (!arguments.resolve.empty()) command.append("resolve", arguments.resolve);
  if (!arguments.message.empty()) command.append("message", arguments.message);
  if (!arguments.author.empty()) command.append("author", arguments.author);
  if (dry_run) command.append("dryRun", true);
  return command.done();
}

int report(const Arguments& arguments, bson::DocumentView reply) {
  const int64_t conflicts = reply["conflictCount"].to_int64();
  const bool stays = conflicts > 0 && (arguments.dry_run || !reply.has("merging"));
  if (arguments.target.json) {
    print_json(std::cout, reply);
  } else if (conflicts > 0) {
    std::cout << count_text(conflicts) << (conflicts == 1 ? " conflict" : " conflicts");
    if (reply["merging"].truthy()) std::cout << "; the merge waits until they are resolved";
    std::cout << "\n";
    print_conflicts(reply);
  } else if (arguments.dry_run) {
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
  const std::string& db = server.required_db();
  bson::Document reply;
  try {
    reply = run_watched(arguments.target, server, db, command_of(arguments, arguments.dry_run), "merging");
  } catch (const datasets::replay::ClientError& refused) {
    constexpr uint32_t operation_failed = 96;
    if (refused.code() != operation_failed || arguments.dry_run) throw;
    // Nothing was merged. The conflicts are asked for, since a script wants them as the dry run shows them.
    reply = server.run(db, command_of(arguments, true));
    if (reply.view()["conflictCount"].to_int64() == 0) throw;
  }
  return report(arguments, reply);
}

}  // namespace

Verb add_merge(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("merge", "merge a branch, tag or commit into a branch");
  arguments->target.add_options(*verb, "the database, or its branch, that is merged into: shop@dev");
  verb->add_option("from", arguments->from, "the branch, tag or commit whose changes are merged")->required();
  verb->add_option("--mode", arguments->mode, "what a conflict is")
      ->check(CLI::IsMember({"fieldTouched", "fieldDivergent", "documentTouched", "documentDivergent"}));
  verb->add_option("--resolve", arguments->resolve, "what happens to conflicts; by default nothing is merged")
      ->check(CLI::IsMember({"fail", "ours", "theirs", "manual"}));
  verb->add_option("--message,-m", arguments->message, "of the commit");
  verb->add_option("--author", arguments->author, "of the commit");
  verb->add_flag("--dry-run", arguments->dry_run, "show the conflicts, and merge nothing");
  verb->footer("Exit codes: 0 merged, or nothing to merge; 1 refused or failed; 2 wrong arguments; 3 there are conflicts.");
  return {verb, [arguments] { return run(*arguments); }};
}

}  // namespace client
