#include <fmt/core.h>

#include <algorithm>
#include <iostream>

#include "bench/branches/dataset.h"
#include "bench/branches/figures.h"
#include "bench/measure/server.h"
#include "bson/builder.h"
#include "datasets/replay/client.h"

namespace bench::branches {

namespace {

constexpr const char* database = "bench";

// Returns the CPU time of the server's whole process for one of some calls. Its background work is included.
template <class Work>
double server_ms(const Server& server, size_t calls, Work&& work) {
  const double before = server.cpu_seconds();
  for (size_t i = 0; i < calls; ++i) work(i);
  return (server.cpu_seconds() - before) * 1e3 / static_cast<double>(calls);
}

void fill(datasets::replay::Client& client, size_t documents) {
  base::Random random(9);
  for (size_t first = 1; first <= documents; first += 1000) {
    std::vector<base::Bytes> records;
    for (size_t id = first; id <= std::min(documents, first + 999); ++id)
      records.push_back(random_record(random, static_cast<int64_t>(id)));
    std::vector<bson::DocumentView> views(records.begin(), records.end());
    if (!client.insert(database, "things", views).empty()) throw std::runtime_error("documents were refused");
  }
}

}  // namespace

void run_over_the_wire(const Settings& settings, Report& report) {
  std::cerr << "over the wire: " << settings.documents << " documents\n";
  const Server server(settings.server, {"--wiredTigerCacheSizeGB", "1", "--quiet"}, settings.scratch);
  datasets::replay::Client client(server.uri());
  if (!client.wait_until_up(30)) throw std::runtime_error("the server doesn't answer");
  fill(client, settings.documents);
  const auto create = [&](size_t number) {
    bson::Builder command;
    command.append("createBranch", fmt::format("b{}", number));
    client.command(database, command.done());
  };
  bson::Builder nothing;
  nothing.append("ping", 1);
  const bson::Document ping = nothing.done();
  // The first call takes the database over and isn't measured; nor is the encoding of the inserted documents.
  create(0);
  server.wait_until_idle();

  Figure figure{"W", "Making a branch over the wire", {}, {}, {}, {}};
  Table table{"CPU of the server, ms a call", {"branches there are", "createBranch", "ping"}, {}};
  const size_t sample = std::min<size_t>(200, settings.many_branches);
  double worst = 0;
  std::string by_number;
  size_t made = 1;
  for (const size_t there : {size_t{1}, settings.many_branches / 10, settings.many_branches / 2, settings.many_branches}) {
    for (; made < there; ++made) create(made);
    const double ms = server_ms(server, sample, [&](size_t) { create(made++); });
    const double bare = server_ms(server, sample, [&](size_t) { client.command("admin", ping); });
    worst = std::max(worst, ms);
    by_number += fmt::format("{}{} ms with {}", by_number.empty() ? "" : ", ", number_text(ms), there);
    table.rows.push_back({std::to_string(there), number_text(ms), number_text(bare)});
  }
  figure.tables.push_back(std::move(table));
  figure.notes.push_back(
      fmt::format("{} documents of 1 KB; one connection, {} calls each, all threads of the server.", settings.documents, sample));
  report.figures.push_back(std::move(figure));
  report.goals.push_back(
      {fmt::format("a branch of {} documents, over the wire", settings.documents), "ms", worst, 0.5, true, by_number});
}

}  // namespace bench::branches
