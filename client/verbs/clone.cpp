// `palimpsest clone` makes a database of one server into one of another, with all its commits.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "bson/builder.h"
#include "bson/json.h"
#include "client/connection.h"
#include "client/verbs.h"
#include "client/watched.h"

namespace client {
namespace {

struct Arguments {
  std::string from, to;
  std::string remote = "origin";
  int64_t depth = 0;                          // 0: all commits
  std::vector<std::string> collections = {};  // empty: all
  std::vector<std::string> filters = {};      // pages={"lang": "de"}
};

// The database of mongodb://host/shop?…; empty: it names none.
std::string database_of(const std::string& uri) {
  const size_t scheme = uri.find("://");
  const size_t slash = scheme == uri.npos ? uri.npos : uri.find('/', scheme + 3);
  if (slash == uri.npos) return {};
  return uri.substr(slash + 1, std::min(uri.find('?', slash), uri.size()) - slash - 1);
}

// Makes {pages: {lang: "de"}} of pages={"lang": "de"}.
bson::Document filter_of(const std::vector<std::string>& filters) {
  bson::Builder out;
  for (const std::string& one : filters) {
    const size_t end = one.find('=');
    const auto query = bson::from_json(end == one.npos ? "" : std::string_view(one).substr(end + 1));
    if (!query || end == 0) throw std::runtime_error("--filter is <collection>=<query as JSON>, and not " + one);
    out.append(std::string_view(one).substr(0, end), query.value());
  }
  return out.done();
}

int run(const Arguments& arguments) {
  const std::string source = database_of(arguments.from), named = database_of(arguments.to);
  if (source.empty()) throw std::runtime_error("the URI to clone from names its database: mongodb://host/shop");
  const std::string db = named.empty() ? source : named;
  Target target;
  target.uri = arguments.to;
  Connection server(target);
  // A clone that was interrupted goes on.
  try {
    bson::Builder add;
    add.append("addRemote", arguments.remote).append("uri", arguments.from);
    server.run(db, add.done());
  } catch (const datasets::replay::ClientError& error) {
    constexpr uint32_t namespace_exists = 48;
    if (error.code() != namespace_exists) throw;
  }
  bson::Builder fetch, pull;
  fetch.append("fetch", arguments.remote);
  if (arguments.depth > 0) fetch.append("depth", arguments.depth);
  if (!arguments.collections.empty()) {
    auto names = fetch.array("collections");
    for (const std::string& one : arguments.collections) names.append(one);
  }
  if (!arguments.filters.empty()) fetch.append("filter", filter_of(arguments.filters));
  const bson::Document fetched = run_watched(target, server, db, fetch.done(), "fetching commits");
  pull.append("pull", arguments.remote).append("branch", "main");
  if (arguments.depth > 0) pull.append("depth", arguments.depth);
  const bson::Document pulled = server.run(db, pull.done());
  std::cout << "{\"database\": \"" << db << "\", \"commits\": " << fetched.view()["made"].to_int64() << ", \"main\": \""
            << pulled.view()["commit"].as_string() << "\"}\n";
  return 0;
}

}  // namespace

Verb add_clone(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* parser = app.add_subcommand("clone", "bring a database of one server to another, with all its commits");
  parser->add_option("from", arguments->from, "mongodb://host/shop, as the other server reaches it")->required();
  parser->add_option("to", arguments->to, "the other server: mongodb://host2, or mongodb://host2/shop2")->required();
  parser->add_option("--remote", arguments->remote, "what the other server calls the first one")->capture_default_str();
  parser->add_option("--depth", arguments->depth, "bring so many of the newest commits of each branch and tag")
      ->check(CLI::Range(int64_t{1}, INT64_MAX - 1));
  parser->add_option("--collection", arguments->collections, "bring this collection alone; may be given several times");
  parser->add_option("--filter", arguments->filters,
                     "bring the documents of a collection that match a query alone: pages='{\"lang\": \"de\"}'; once for each "
                     "collection");
  return {parser, [arguments] { return run(*arguments); }};
}

}  // namespace client
