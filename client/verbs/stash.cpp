// `palimpsest stash` puts aside what isn't committed on a branch, and applies it again.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "client/conflicts.h"
#include "client/connection.h"
#include "client/differences.h"
#include "client/number_checks.h"
#include "client/table.h"
#include "client/verbs.h"

namespace client {
namespace {

struct Arguments {
  Target target;
  int64_t number = 0;  // 0: the newest
  std::string message, author;
  MergeOptions options;
};

bson::Document list_command() {
  bson::Builder command;
  command.append("listStashes", 1);
  return command.done();
}

int push(const Arguments& arguments) {
  Connection server(arguments.target);
  bson::Builder command;
  command.append("stash", 1);
  if (!arguments.message.empty()) command.append("message", arguments.message);
  if (!arguments.author.empty()) command.append("author", arguments.author);
  const bson::Document reply = server.run(server.required_db(), command.done());
  if (arguments.target.json) return print_json(std::cout, reply), 0;
  const std::string branch = printable(text_of(reply.view()["branch"]));
  if (reply.view()["changed"].truthy())
    std::cout << "stash " << reply.view()["stash"].to_int64() << ": what was not committed on " << branch << "\n";
  else
    std::cout << "all is committed on " << branch << "\n";
  return 0;
}

int list(const Arguments& arguments) {
  Connection server(arguments.target);
  Table table({{"stash", Table::Align::right}, {"branch"}, {"commit"}, {"time"}, {"author"}, {"message"}});
  server.each(server.required_db(), list_command(), [&](bson::DocumentView one) {
    if (arguments.target.json) return print_json(std::cout, one);
    const bson::Element time = one["time"];
    table.add({std::to_string(one["stash"].to_int64()), printable(text_of(one["branch"])), short_id(one["commit"]),
               time.exists() ? time_text(time.as_date()) : std::string(), printable(text_of(one["author"])),
               printable(text_of(one["message"]))});
  });
  table.print(std::cout);
  return 0;
}

struct Found {
  int64_t number = 0;
  std::string commit, parent;
};

Found find(Connection& server, int64_t number) {
  Found found;
  server.each(server.required_db(), list_command(), [&](bson::DocumentView one) {
    const int64_t here = one["stash"].to_int64();
    if (found.number != 0 || (number != 0 && here != number)) return;  // they come newest first
    found = {.number = here, .commit = text_of(one["commit"]), .parent = {}};
    if (one["parents"].is_array()) {
      for (const bson::Element& parent : one["parents"].as_document()) found.parent = text_of(parent);
    }
  });
  if (found.number == 0)
    throw std::runtime_error(number == 0 ? "there is no stash" : "there is no stash " + std::to_string(number));
  return found;
}

int show(const Arguments& arguments) {
  Connection server(arguments.target);
  const Found stash = find(server, arguments.number);
  if (stash.commit.empty())
    throw std::runtime_error("stash " + std::to_string(stash.number) + " is of a branch that you may not read");
  bson::Builder command;
  command.append("diff", 1).append("from", stash.parent).append("to", stash.commit);
  { auto cursor = command.object("cursor"); }
  DifferencePrinter printer;
  server.each(server.required_db(), command.done(),
              [&](bson::DocumentView one) { arguments.target.json ? print_json(std::cout, one) : printer.print(one); });
  if (printer.empty() && !arguments.target.json) std::cout << "no documents\n";
  return 0;
}

int apply(const Arguments& arguments, const char* name) {
  Connection server(arguments.target);
  const int64_t number = arguments.number == 0 ? find(server, 0).number : arguments.number;
  bson::Builder command;
  command.append(name, number);
  arguments.options.append_to(command);
  const bson::Document reply =
      run_or_show_conflicts(arguments.target, server, command.done(), "applying", arguments.options.dry_run);
  const int64_t conflicts = reply.view()["conflictCount"].to_int64();
  const std::string branch = printable(text_of(reply.view()["branch"]));
  if (arguments.target.json) {
    print_json(std::cout, reply);
  } else if (conflicts > 0) {
    std::cout << count_text(conflicts) << (conflicts == 1 ? " conflict" : " conflicts") << "; nothing was changed\n";
    print_conflicts(reply);
  } else if (arguments.options.dry_run) {
    std::cout << "no conflicts\n";
  } else {
    std::cout << "stash " << number << (reply.view()["changed"].truthy() ? " is on " : " changed nothing on ") << branch << "\n";
  }
  return conflicts > 0 ? exit_conflicts : 0;
}

int drop(const Arguments& arguments) {
  Connection server(arguments.target);
  bson::Builder command;
  command.append("dropStash", arguments.number);
  const bson::Document reply = server.run(server.required_db(), command.done());
  if (arguments.target.json)
    print_json(std::cout, reply);
  else
    std::cout << "stash " << arguments.number << " is gone\n";
  return 0;
}

}  // namespace

Verb add_stash(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  auto chosen = std::make_shared<std::function<int()>>();
  CLI::App* verb = app.add_subcommand("stash", "put aside what is not committed on a branch, and apply it again");
  arguments->target.add_options(*verb, "the database, or its branch: shop@dev");
  verb->require_subcommand(1);
  const auto add = [&](const char* name, const char* about, std::function<int()> run) {
    CLI::App* one = verb->add_subcommand(name, about)->fallthrough();
    one->parse_complete_callback([chosen, run = std::move(run)] { *chosen = run; });
    return one;
  };
  const auto add_number = [&](CLI::App* one, const char* about) {
    return one->add_option("number", arguments->number, about)->check(above_zero());
  };
  CLI::App* pushes = add("push", "put aside what is not committed on the branch", [arguments] { return push(*arguments); });
  pushes->add_option("--message,-m", arguments->message, "of the stash");
  pushes->add_option("--author", arguments->author, "of the stash");
  add("list", "list the stashes of the database, the newest first", [arguments] { return list(*arguments); });
  add_number(add("show", "show the documents that a stash changes", [arguments] { return show(*arguments); }),
             "of the stash; without it, the newest");
  CLI::App* applies = add("apply", "apply the changes of a stash to the branch, uncommitted, and keep the stash",
                          [arguments] { return apply(*arguments, "stashApply"); });
  CLI::App* pops = add("pop", "apply the changes of a stash to the branch, uncommitted, and drop the stash",
                       [arguments] { return apply(*arguments, "stashPop"); });
  for (CLI::App* one : {applies, pops}) {
    add_number(one, "of the stash; without it, the newest");
    arguments->options.add_options(*one, MergeOptions::Manual::no, "nothing is changed");
    one->footer("Exit codes: 0 applied, or nothing to change; 1 refused or failed; 2 wrong arguments; 3 there are conflicts.");
  }
  add_number(add("drop", "forget a stash", [arguments] { return drop(*arguments); }), "of the stash")->required();
  return {verb, [chosen] { return (*chosen)(); }};
}

}  // namespace client
