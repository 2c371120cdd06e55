// `palimpsest snapshot` lists, declares and drops snapshots of the server.
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
  std::string name;
  bool make = false, remove = false;
};

void list(Connection& server, bool json) {
  bson::Builder command;
  command.append("listSnapshots", 1);
  Table table({{"snapshot"}, {"name"}, {"time"}});
  server.each("admin", command.done(), [&](bson::DocumentView one) {
    if (json) return print_json(std::cout, one);
    table.add(
        {"s" + std::to_string(one["number"].to_int64()), printable(text_of(one["name"])), time_text(one["time"].as_date())});
  });
  table.print(std::cout);
}

int run(const Arguments& arguments) {
  Connection server(arguments.target);
  if (arguments.name.empty() && !arguments.make) return list(server, arguments.target.json), 0;
  bson::Builder command;
  if (arguments.remove) {
    command.append("dropSnapshot", arguments.name);
  } else {
    command.append("createSnapshot", 1);
    if (!arguments.name.empty()) command.append("name", arguments.name);
  }
  const bson::Document reply = server.run("admin", command.done());
  if (arguments.target.json) return print_json(std::cout, reply), 0;
  const std::string shown = arguments.remove ? arguments.name : text_of(reply.view()["snapshot"]);
  std::cout << "snapshot " << printable(shown) << (arguments.remove ? " is gone" : "; read it as DATABASE@" + printable(shown))
            << "\n";
  return 0;
}

}  // namespace

Verb add_snapshot(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("snapshot", "list the declared snapshots; declare or drop one");
  arguments->target.add_options(*verb, "");
  CLI::Option* name = verb->add_option("name", arguments->name, "the snapshot to declare; without it, snapshots are listed");
  CLI::Option* remove = verb->add_flag("--delete", arguments->remove, "drop the snapshot, by its name or number: before, s3");
  verb->add_flag("--unnamed", arguments->make, "declare a snapshot without a name")->excludes(name);
  remove->needs(name);
  return {verb, [arguments] { return run(*arguments); }};
}

}  // namespace client
