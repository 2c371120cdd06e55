// `palimpsest branch` lists, makes, renames, resets and removes branches.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "client/connection.h"
#include "client/table.h"
#include "client/verbs.h"

namespace client {
namespace {

struct Arguments {
  Target target;
  std::string name, from, rename, reset;
  bool remove = false, force = false;
};

void list(Connection& server, const Target& target) {
  bson::Builder command;
  command.append("listBranches", 1);
  Table table({{"branch"}, {"commit"}, {"time"}, {"database"}});
  server.each(server.required_db(), command.done(), [&](bson::DocumentView one) {
    if (target.json) return print_json(std::cout, one);
    table.add({printable(text_of(one["name"])), short_id(one["commit"]), time_text(one["time"].as_date()),
               printable(text_of(one["database"]))});
  });
  table.print(std::cout);
}

bson::Document command_of(const Arguments& arguments) {
  bson::Builder command;
  if (arguments.remove) {
    command.append("dropBranch", arguments.name).append("force", arguments.force);
  } else if (!arguments.rename.empty()) {
    command.append("renameBranch", arguments.name).append("to", arguments.rename);
  } else if (!arguments.reset.empty()) {
    command.append("resetBranch", arguments.name).append("to", arguments.reset).append("force", arguments.force);
  } else {
    command.append("createBranch", arguments.name);
    if (!arguments.from.empty()) command.append("from", arguments.from);
  }
  return command.done();
}

int run(const Arguments& arguments) {
  Connection server(arguments.target);
  if (arguments.name.empty()) return list(server, arguments.target), 0;
  const bson::Document reply = server.run(server.required_db(), command_of(arguments));
  if (arguments.target.json) return print_json(std::cout, reply), 0;
  std::cout << "branch " << printable(arguments.name);
  if (arguments.remove) {
    std::cout << " is gone\n";
  } else if (!arguments.rename.empty()) {
    std::cout << " is " << printable(arguments.rename) << "\n";
  } else {
    std::cout << " at " << short_id(reply.view()["commit"]);
    if (reply.view()["uncommitted"].truthy()) std::cout << "; what isn't committed stays where it is";
    std::cout << "\n";
  }
  return 0;
}

}  // namespace

Verb add_branch(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("branch", "list the branches of a database; make, rename, reset or remove one");
  arguments->target.add_options(*verb, "the database");
  CLI::Option* name = verb->add_option("name", arguments->name, "the branch to make; without it, branches are listed");
  CLI::Option* from = verb->add_option("--from", arguments->from, "the branch, tag or commit that it begins with; default main");
  CLI::Option* rename = verb->add_option("--rename", arguments->rename, "give the branch this name");
  CLI::Option* reset = verb->add_option("--reset", arguments->reset, "let the branch go on from this branch, tag or commit");
  CLI::Option* remove = verb->add_flag("--delete", arguments->remove, "remove the branch; its commits stay");
  verb->add_flag("--force", arguments->force, "also if the branch has changes that aren't committed, which are lost");
  for (CLI::Option* option : {from, rename, reset, remove}) {
    option->needs(name);
    for (CLI::Option* other : {from, rename, reset, remove})
      if (other != option) option->excludes(other);
  }
  return {verb, [arguments] { return run(*arguments); }};
}

}  // namespace client
