// `palimpsest diff` shows the documents that two states show differently.
#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <memory>

#include "bson/json.h"
#include "client/connection.h"
#include "client/differences.h"
#include "client/table.h"
#include "client/verbs.h"

namespace client {
namespace {

struct Arguments {
  Target target;
  std::string from, to, collection, filter, format;
  bool exit_code = false, summary = false;
};

bson::Document command_of(const Arguments& arguments) {
  bson::Builder command;
  command.append("diff", 1);
  if (!arguments.from.empty()) command.append("from", arguments.from);
  if (!arguments.to.empty()) command.append("to", arguments.to);
  if (!arguments.collection.empty()) command.append("collection", arguments.collection);
  if (!arguments.filter.empty()) command.append("filter", bson::from_json(arguments.filter).or_throw());
  if (!arguments.format.empty()) command.append("format", arguments.format);
  { auto cursor = command.object("cursor"); }
  return command.done();
}

struct Counts {
  int64_t inserted = 0, updated = 0, deleted = 0;
};

int run(const Arguments& arguments) {
  Connection server(arguments.target);
  DifferencePrinter printer;
  std::map<std::string, Counts> counts;
  int64_t differences = 0;
  server.each(server.required_db(), command_of(arguments), [&](bson::DocumentView one) {
    ++differences;
    if (!arguments.format.empty()) {
      std::cout << (arguments.format == "lines" ? text_of(one["line"]) : bson::to_json(one, bson::JsonMode::canonical)) << "\n";
      return;
    }
    if (arguments.summary) {
      const std::string name = printable(text_of(one["collection"])), change = text_of(one["change"]);
      ++(change == "insert" ? counts[name].inserted : change == "delete" ? counts[name].deleted : counts[name].updated);
    } else if (arguments.target.json) {
      print_json(std::cout, one);
    } else {
      printer.print(one);
    }
  });
  Table table(
      {{"collection"}, {"inserted", Table::Align::right}, {"updated", Table::Align::right}, {"deleted", Table::Align::right}});
  for (const auto& [name, count] : counts) {
    if (arguments.target.json) {
      bson::Builder out;
      out.append("collection", name).append("inserted", count.inserted).append("updated", count.updated);
      out.append("deleted", count.deleted);
      print_json(std::cout, out.done());
    } else {
      table.add({name, count_text(count.inserted), count_text(count.updated), count_text(count.deleted)});
    }
  }
  table.print(std::cout);
  if (differences == 0 && !arguments.target.json && arguments.format.empty()) std::cout << "no difference\n";
  return arguments.exit_code && differences > 0 ? 1 : 0;
}

}  // namespace

Verb add_diff(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("diff", "show the documents that two branches, tags or commits show differently");
  arguments->target.add_options(*verb, "the database, or its branch: shop@dev");
  verb->add_option("from", arguments->from, "a branch, tag or commit; without it, the last commit of the database or branch");
  verb->add_option("to", arguments->to, "likewise; without it, the database or branch with what isn't committed");
  verb->add_option("--collection", arguments->collection, "this collection alone");
  verb->add_option("--filter", arguments->filter, R"(a query over {collection, _id, change, before, after}, as JSON)");
  verb->add_option("--format", arguments->format,
                   "write a patch for `palimpsest apply`, a change a line: whole documents, or JSON patches")
      ->check(CLI::IsMember({"lines", "jsonPatch"}));
  verb->add_flag("--summary", arguments->summary, "numbers of documents for each collection")->excludes("--format");
  verb->add_flag("--exit-code", arguments->exit_code, "end with 1 if there is a difference");
  return {verb, [arguments] { return run(*arguments); }};
}

}  // namespace client
