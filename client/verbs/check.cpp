// `palimpsest check` reads a data directory without a server, and says what is damaged.
#include <CLI/CLI.hpp>
#include <memory>

#include "client/offline_check.h"
#include "client/verbs.h"
#include "storage/engine/durable_files.h"

namespace client {
namespace {

struct Arguments {
  std::string directory;
  CheckOptions options;
  bool json = false;
};

}  // namespace

Verb add_check(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("check", "read a data directory that no server runs on, and say what is damaged");
  verb->add_option("directory", arguments->directory, "the data directory; nothing in it is changed")->required();
  arguments->options.add_options(*verb);
  verb->add_flag("--json", arguments->json, "print a document for each collection as lines of relaxed Extended JSON");
  verb->footer(
      "It checks what `validate` with {full: true} checks: documents, chains, indexes and the files of tables.\n"
      "Exit codes: 0 sound, 1 damaged, 2 it can't be checked: a server runs on it, or it is no data directory.");
  return {verb, [arguments] {
            return check_directory(std::filesystem::absolute(storage::plain_path(arguments->directory)), arguments->options,
                                   arguments->json);
          }};
}

}  // namespace client
