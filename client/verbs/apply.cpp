// `palimpsest apply` brings a patch, as `palimpsest diff` writes it, to a branch.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <memory>

#include "bson/json.h"
#include "client/conflicts.h"
#include "client/connection.h"
#include "client/table.h"
#include "client/verbs.h"

namespace client {
namespace {

// A command is one document. The rest of it takes some room, and so does each line's name in the array.
constexpr size_t patch_bytes_max = bson::document_bytes_max - (64 << 10);
constexpr size_t line_bytes_beside = 16;

struct Arguments {
  Target target;
  std::string file, mode, resolve;
  bool dry_run = false, bypass = false;
};

bson::Document command_of(const Arguments& arguments, std::istream& in, bool dry_run) {
  bson::Builder command;
  command.append("applyPatch", 1);
  {
    auto changes = command.array("changes");
    size_t bytes = 0;
    for (std::string line; std::getline(in, line);) {
      if (line.find_first_not_of(" \t\r") == line.npos) continue;
      bytes += line.size() + line_bytes_beside;
      if (bytes > patch_bytes_max)
        throw std::invalid_argument("the patch is larger than 16 MB, so it can't be applied at once; apply its lines in parts");
      changes.append(line);
    }
  }
  if (!arguments.mode.empty()) command.append("mode", arguments.mode);
  if (!arguments.resolve.empty()) command.append("resolve", arguments.resolve);
  if (arguments.bypass) command.append("bypassDocumentValidation", true);
  if (dry_run) command.append("dryRun", true);
  return command.done();
}

bson::Document command_of(const Arguments& arguments) {
  if (arguments.file == "-") return command_of(arguments, std::cin, arguments.dry_run);
  std::ifstream in(arguments.file);
  if (!in) throw std::invalid_argument("can't read " + arguments.file);
  return command_of(arguments, in, arguments.dry_run);
}

// The same command, which answers with the conflicts.
bson::Document as_dry_run(const bson::Document& command) {
  bson::Builder dry;
  dry.append_all(command).append("dryRun", true);
  return dry.done();
}

int report(const Arguments& arguments, bson::DocumentView reply) {
  const int64_t conflicts = reply["conflictCount"].to_int64();
  const auto count = [&](const char* name) { return count_text(reply[name].to_int64()); };
  if (arguments.target.json) {
    print_json(std::cout, reply);
  } else if (conflicts > 0) {
    std::cout << count_text(conflicts) << (conflicts == 1 ? " conflict" : " conflicts") << "; nothing was changed\n";
    print_conflicts(reply);
  } else if (!reply["changed"].truthy()) {
    std::cout << printable(text_of(reply["branch"])) << " has all of it already\n";
  } else {
    std::cout << (arguments.dry_run ? "would change on " : "changed on ") << printable(text_of(reply["branch"])) << ": "
              << count("inserted") << " inserted, " << count("modified") << " updated, " << count("deleted") << " deleted\n";
  }
  return conflicts > 0 ? exit_conflicts : 0;
}

int run(const Arguments& arguments) {
  const bson::Document command = command_of(arguments);
  Connection server(arguments.target);
  const std::string& db = server.required_db();
  bson::Document reply;
  try {
    reply = server.run(db, command);
  } catch (const datasets::replay::ClientError& refused) {
    constexpr uint32_t operation_failed = 96;
    if (refused.code() != operation_failed || arguments.dry_run) throw;
    reply = server.run(db, as_dry_run(command));
    if (reply.view()["conflictCount"].to_int64() == 0) throw;
  }
  return report(arguments, reply);
}

}  // namespace

Verb add_apply(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("apply", "bring a patch, as `palimpsest diff` writes it, to a branch, uncommitted");
  arguments->target.add_options(*verb, "the database, or its branch, that is changed: shop@dev");
  verb->add_option("file", arguments->file, "the patch, a change a line; - is the standard input")->required();
  verb->add_option("--mode", arguments->mode, "what a conflict is")
      ->check(CLI::IsMember({"fieldTouched", "fieldDivergent", "documentTouched", "documentDivergent"}));
  verb->add_option("--resolve", arguments->resolve, "what happens to conflicts; by default nothing is changed")
      ->check(CLI::IsMember({"fail", "ours", "theirs"}));
  verb->add_flag("--dry-run", arguments->dry_run, "show the conflicts, and change nothing");
  verb->add_flag("--bypass-document-validation", arguments->bypass, "don't ask the collections' validators");
  verb->footer("Exit codes: 0 applied, or nothing to change; 1 refused or failed; 2 wrong arguments; 3 there are conflicts.");
  return {verb, [arguments] { return run(*arguments); }};
}

}  // namespace client
