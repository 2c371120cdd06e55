// `palimpsest apply` applies a patch, as `palimpsest diff` writes it, to a branch.
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
  std::string file;
  MergeOptions options;
  bool bypass = false;
};

bson::Document command_of(const Arguments& arguments, std::istream& in) {
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
  arguments.options.append_to(command);
  if (arguments.bypass) command.append("bypassDocumentValidation", true);
  return command.done();
}

bson::Document command_of(const Arguments& arguments) {
  if (arguments.file == "-") return command_of(arguments, std::cin);
  std::ifstream in(arguments.file);
  if (!in) throw std::invalid_argument("can't read " + arguments.file);
  return command_of(arguments, in);
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
    std::cout << (arguments.options.dry_run ? "would change on " : "changed on ") << printable(text_of(reply["branch"])) << ": "
              << count("inserted") << " inserted, " << count("modified") << " updated, " << count("deleted") << " deleted\n";
  }
  return conflicts > 0 ? exit_conflicts : 0;
}

int run(const Arguments& arguments) {
  const bson::Document command = command_of(arguments);
  Connection server(arguments.target);
  return report(arguments, run_or_show_conflicts(arguments.target, server, command, "applying", arguments.options.dry_run));
}

}  // namespace

Verb add_apply(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("apply", "apply a patch, as `palimpsest diff` writes it, to a branch, uncommitted");
  arguments->target.add_options(*verb, "the database, or its branch, that is changed: shop@dev");
  verb->add_option("file", arguments->file, "the patch, a change a line; - is the standard input")->required();
  arguments->options.add_options(*verb, MergeOptions::Manual::no, "nothing is changed");
  verb->add_flag("--bypass-document-validation", arguments->bypass, "don't ask the collections' validators");
  verb->footer("Exit codes: 0 applied, or nothing to change; 1 refused or failed; 2 wrong arguments; 3 there are conflicts.");
  return {verb, [arguments] { return run(*arguments); }};
}

}  // namespace client
