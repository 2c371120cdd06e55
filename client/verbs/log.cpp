// `palimpsest log` shows the commits that a branch, tag or commit comes from.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "bson/json.h"
#include "client/connection.h"
#include "client/number_checks.h"
#include "client/table.h"
#include "client/verbs.h"

namespace client {
namespace {

struct Arguments {
  Target target;
  int64_t limit = 0;
  std::string collection, id;
  bool oneline = false;
};

bson::Document command_of(const Arguments& arguments) {
  bson::Builder command;
  command.append("log", 1).append("limit", arguments.limit);
  if (!arguments.collection.empty()) {
    auto touching = command.object("touching");
    touching.append("coll", arguments.collection);
    touching.append("_id", bson::value_from_json(arguments.id).or_throw());
  }
  { auto cursor = command.object("cursor"); }
  return command.done();
}

void print_commit(bson::DocumentView commit, bool first) {
  if (!first) std::cout << "\n";
  std::cout << "commit " << printable(text_of(commit["commit"])) << "\n";
  if (commit["parents"].is_array() && commit["parents"].as_document().find("1").exists()) {
    std::cout << "merge  ";
    for (const bson::Element& parent : commit["parents"].as_document()) std::cout << " " << short_id(parent);
    std::cout << "\n";
  }
  if (commit.has("author")) std::cout << "author " << printable(text_of(commit["author"])) << "\n";
  if (commit["time"].type() == bson::Type::date) std::cout << "time   " << time_text(commit["time"].as_date()) << "\n";
  if (const std::string message = text_of(commit["message"]); !message.empty())
    std::cout << "\n    " << printable(message) << "\n";
}

int run(const Arguments& arguments) {
  Connection server(arguments.target);
  Table lines({{"commit"}, {"time"}, {"author"}, {"message"}});
  bool first = true;
  server.each(server.required_db(), command_of(arguments), [&](bson::DocumentView commit) {
    if (arguments.target.json) return print_json(std::cout, commit);
    if (!arguments.oneline) return print_commit(commit, std::exchange(first, false));
    lines.add({short_id(commit["commit"]), time_text(commit["time"].as_date()), printable(text_of(commit["author"])),
               printable(text_of(commit["message"]))});
  });
  lines.print(std::cout);
  return 0;
}

}  // namespace

Verb add_log(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("log", "show the commits that a branch, tag or commit comes from, newest first");
  arguments->target.add_options(*verb, "the database, or its branch, tag or commit: shop@dev");
  verb->add_option("--limit", arguments->limit, "show at most so many")->check(zero_or_above());
  CLI::Option* collection =
      verb->add_option("--collection", arguments->collection, "show the commits that changed a document of this collection");
  verb->add_option("--id", arguments->id, "its _id, as JSON: 17, '\"home\"', '{\"$oid\": \"…\"}'")->needs(collection);
  collection->needs(verb->get_option("--id"));
  verb->add_flag("--oneline", arguments->oneline, "a line a commit");
  return {verb, [arguments] { return run(*arguments); }};
}

}  // namespace client
