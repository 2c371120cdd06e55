// `palimpsest stats` shows how much is stored, and in how many bytes.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "client/connection.h"
#include "client/table.h"
#include "client/verbs.h"

namespace client {
namespace {

constexpr auto right = Table::Align::right;

std::vector<std::string> databases_of(Connection& server) {
  bson::Builder command;
  command.append("listDatabases", 1).append("nameOnly", true);
  const bson::Document reply = server.run("admin", command.done());
  std::vector<std::string> names;
  for (const bson::Element& one : reply.view()["databases"].as_document())
    if (one.is_object()) names.push_back(text_of(one.as_document()["name"]));
  return names;
}

void show_databases(Connection& server, bool json) {
  Table table({{"database"},
               {"collections", right},
               {"documents", right},
               {"size", right},
               {"stored", right},
               {"ratio", right},
               {"indexes", right},
               {"index size", right}});
  for (const std::string& db : databases_of(server)) {
    const bson::Document reply = server.run(db, "dbStats");
    const bson::DocumentView stats = reply;
    if (json) {
      print_json(std::cout, stats);
      continue;
    }
    table.add({printable(db), count_text(stats["collections"].to_int64()), count_text(stats["objects"].to_int64()),
               size_text(stats["dataSize"].to_int64()), size_text(stats["storageSize"].to_int64()),
               ratio_text(stats["dataSize"].to_double(), stats["storageSize"].to_double()),
               count_text(stats["indexes"].to_int64()), size_text(stats["indexSize"].to_int64())});
  }
  table.print(std::cout);
}

std::vector<std::string> collections_of(Connection& server, const std::string& db) {
  std::vector<std::string> names;
  bson::Builder command;
  command.append("listCollections", 1).append("nameOnly", true);
  { auto cursor = command.object("cursor"); }
  server.each(db, command.done(), [&](bson::DocumentView one) {
    if (text_of(one["type"]) != "view") names.push_back(text_of(one["name"]));
  });
  std::sort(names.begin(), names.end());
  return names;
}

void show_collections(Connection& server, const std::string& db, bool json) {
  Table table({{"collection"},
               {"documents", right},
               {"size", right},
               {"average", right},
               {"stored", right},
               {"ratio", right},
               {"indexes", right},
               {"index size", right}});
  const std::vector<std::string> names = collections_of(server, db);
  if (names.empty()) server.check_database(db);
  for (const std::string& name : names) {
    bson::Builder command;
    command.append("collStats", name);
    const bson::Document reply = server.run(db, command.done());
    const bson::DocumentView stats = reply;
    if (json) {
      print_json(std::cout, stats);
      continue;
    }
    table.add({printable(name), count_text(stats["count"].to_int64()), size_text(stats["size"].to_int64()),
               size_text(stats["avgObjSize"].to_int64()), size_text(stats["storageSize"].to_int64()),
               ratio_text(stats["size"].to_double(), stats["storageSize"].to_double()), count_text(stats["nindexes"].to_int64()),
               size_text(stats["totalIndexSize"].to_int64())});
  }
  table.print(std::cout);
}

int run(const Target& target) {
  Connection server(target);
  if (server.db().empty()) {
    show_databases(server, target.json);
  } else {
    show_collections(server, server.db(), target.json);
  }
  return 0;
}

}  // namespace

Verb add_stats(CLI::App& app) {
  auto target = std::make_shared<Target>();
  CLI::App* verb = app.add_subcommand("stats", "show how much each database, or each collection of one, has and takes");
  target->add_options(*verb, "the database whose collections are shown");
  return {verb, [target] { return run(*target); }};
}

}  // namespace client
