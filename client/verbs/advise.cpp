// `palimpsest advise` estimates what dedup saves on collections.
#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "bson/json.h"
#include "client/number_checks.h"
#include "client/table.h"
#include "client/verbs.h"
#include "client/watched.h"

namespace client {
namespace {

constexpr auto right = Table::Align::right;

struct Arguments {
  Target target;
  std::vector<std::string> collections;
  int64_t sample = 0;
};

std::vector<std::string> all_collections(Connection& server) {
  std::vector<std::string> names;
  bson::Builder command;
  command.append("listCollections", 1);
  {
    auto filter = command.object("filter");
    filter.append("type", "collection");
  }
  { auto cursor = command.object("cursor"); }
  server.each(server.required_db(), command.done(), [&](bson::DocumentView one) {
    if (const std::string name = text_of(one["name"]); !name.starts_with("system.")) names.push_back(name);
  });
  if (names.empty()) server.check_database(server.required_db());
  std::sort(names.begin(), names.end());
  return names;
}

std::string ratio_of(bson::DocumentView advice, std::string_view part) {
  const bson::Element found = advice[part];
  return found.is_object() ? fmt::format("{:.2f}", found.as_document()["ratioWithBlockCompression"].to_double()) : "-";
}

int run(const Arguments& arguments) {
  Connection server(arguments.target);
  const std::vector<std::string> names = arguments.collections.empty() ? all_collections(server) : arguments.collections;
  Table table({{"collection"},
               {"documents", right},
               {"size", right},
               {"ratio without dedup", right},
               {"balanced", right},
               {"archive", right},
               {"advice"},
               {"because"}});
  for (const std::string& name : names) {
    bson::Builder command;
    command.append("dedupAdvise", name);
    if (arguments.sample > 0) {
      auto sample = command.object("sample");
      sample.append("documents", arguments.sample);
    }
    const bson::Document reply =
        run_watched(arguments.target, server, server.required_db(), command.done(), "reading " + printable(name));
    const bson::DocumentView advice = reply;
    if (arguments.target.json) {
      print_json(std::cout, advice);
      continue;
    }
    const bson::DocumentView recommended = advice["recommended"].as_document();
    table.add({printable(name), count_text(advice["documents"].to_int64()), size_text(advice["logicalBytes"].to_int64()),
               ratio_of(advice, "withoutDedup"), ratio_of(advice, "balanced"), ratio_of(advice, "archive"),
               bson::to_json(recommended["dedup"]), printable(text_of(recommended["why"]))});
  }
  table.print(std::cout);
  return 0;
}

}  // namespace

Verb add_advise(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("advise", "estimate what dedup saves on collections; reads them, and changes nothing");
  arguments->target.add_options(*verb, "the database");
  verb->add_option("collections", arguments->collections, "the collections; without them, all of the database");
  verb->add_option("--sample", arguments->sample, "encode about so many documents of each")->check(above_zero());
  return {verb, [arguments] { return run(*arguments); }};
}

}  // namespace client
