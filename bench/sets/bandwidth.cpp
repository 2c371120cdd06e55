// Figure 6.5 shows inserts while the log is shipped over lines of a bandwidth.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>

#include "bench/data/workload.h"
#include "bench/measure/interrupt.h"
#include "bench/measure/network.h"
#include "bench/measure/replica_set.h"
#include "bench/options.h"
#include "bench/sets/command.h"
#include "datasets/replay/client.h"

namespace bench::sets {
namespace {

using datasets::replay::Client;

struct Arguments {
  Common common;
  Inserted inserted;
  std::string concern = "1";
  std::vector<double> mbits{1, 5, 20, 100};
  size_t members = 3, records = 4000, batch = 10, synchronize = 100, turns = 3;
  double seconds = 20;
};

struct Outcome {
  double rate = 0;           // records a second, until all members had them
  double line_bytes = 0;     // sent by the primary, a record
  double content_bytes = 0;  // a record
};

// Inserts for a while; after every so many records it waits for all members, as dbDedup §6.4.1 does.
Outcome replay(const Arguments& arguments, const Workload& workload, ReplicaSet& set, const Network& network) {
  const std::string database = "wan";
  Client client(set.uri("w=" + arguments.concern));
  const uint64_t sent = network.sent_bytes(0);
  uint64_t content = 0;
  size_t done = 0, synchronized = 0;
  const auto begun = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(); };
  const size_t records = std::min(arguments.records, workload.records.size());
  std::vector<uint32_t> order(records);
  std::iota(order.begin(), order.end(), 0);
  while (done < records && seconds() < arguments.seconds) {
    const size_t from = done;
    done = insert_batch(client, database, workload, order, done, records, arguments.batch);
    for (size_t i = from; i < done; ++i) content += workload.records[i].document.size();
    if (done - synchronized < arguments.synchronize) continue;
    set.synchronize();
    synchronized = done;
  }
  set.synchronize();
  const auto count = static_cast<double>(done);
  return {count / seconds(), static_cast<double>(network.sent_bytes(0) - sent) / count, static_cast<double>(content) / count};
}

std::string name_of(const std::optional<double>& mbit) {
  return mbit ? number_text(*mbit) : "unlimited";
}

struct Kind {
  const char* name;
  std::vector<std::string> arguments;
};

int run(const Arguments& arguments) {
  Report report;
  report.title = "Insertion throughput under limited bandwidth (dbDedup, figure 6.5)";
  report.command = fmt::format(
      "palimpsest bench bandwidth --workload {} --members {} --batch {} --synchronize {} --w {} --records {} --seconds {} "
      "--turns {}",
      arguments.inserted.workload, arguments.members, arguments.batch, arguments.synchronize, arguments.concern,
      arguments.records, arguments.seconds, arguments.turns);
  const std::string server = server_of(arguments.common);
  begin(report);
  clean_up_when_interrupted();
  Network network(arguments.members, Network::Lines::shaped);
  const Workload workload = load_inserted(arguments.inserted, arguments.records);
  report.about.emplace_back("data", workload.source);

  const std::vector<Kind> kinds = {{"dedup on", {}}, {"dedup off", {"--nodedup", "--setParameter", "dedupForwardLog=false"}}};
  std::vector<std::optional<double>> lines{std::nullopt};
  for (const double mbit : arguments.mbits) lines.emplace_back(mbit);

  Plot plot{"Inserts a second over lines of so many Mbit/s", "Mbit/s", "inserts/s", true, {}};
  Table table{"",
              {"Mbit/s", "", "inserts/s", "of unlimited, %", "on the line, B a record", "line used, Mbit/s", "content over line"},
              {}};
  std::map<std::string, double> unlimited;
  for (const Kind& kind : kinds) plot.series.push_back({kind.name, {}});
  // The lines take turns, so that the machine's other work meets all of them.
  std::map<std::pair<size_t, size_t>, std::vector<Outcome>> outcomes;  // by line and kind
  for (size_t turn = 0; turn < arguments.turns; ++turn) {
    for (size_t at = 0; at < lines.size(); ++at) {
      for (size_t i = 0; i < kinds.size(); ++i) {
        SetOptions options{.program = server,
                           .members = arguments.members,
                           .arguments = kinds[i].arguments,
                           .scratch = arguments.common.scratch,
                           .network = &network};
        options.arguments.insert(options.arguments.end(), {"--wiredTigerCacheSizeGB", "0.5", "--quiet"});
        ReplicaSet set(options);
        network.limit(lines[at]);
        const Outcome outcome = replay(arguments, workload, set, network);
        network.limit(std::nullopt);
        outcomes[{at, i}].push_back(outcome);
        std::cerr << fmt::format("{} Mbit/s, {}: {:.0f} inserts/s, {:.0f} B a record on the line\n", name_of(lines[at]),
                                 kinds[i].name, outcome.rate, outcome.line_bytes);
      }
    }
  }
  for (auto& [which, turns] : outcomes) {
    const auto& mbit = lines[which.first];
    const size_t i = which.second;
    std::sort(turns.begin(), turns.end(), [](const Outcome& a, const Outcome& b) { return a.rate < b.rate; });
    const Outcome outcome = turns[turns.size() / 2];
    if (!mbit) unlimited[kinds[i].name] = outcome.rate;
    const double share = 100 * outcome.rate / unlimited[kinds[i].name];
    table.rows.push_back({name_of(mbit), kinds[i].name, number_text(outcome.rate), number_text(share),
                          number_text(outcome.line_bytes), number_text(outcome.line_bytes * outcome.rate * 8 / 1e6),
                          number_text(outcome.content_bytes / outcome.line_bytes) + "x"});
    if (!mbit && i + 1 == kinds.size()) {
      const double of_plain = 100 * unlimited[kinds.front().name] / outcome.rate;
      report.goals.push_back({"insert rate with dedup and a log of deltas, of that without", "%", of_plain, 95, false,
                              fmt::format("{}, {} members, unlimited lines", workload.name, arguments.members)});
    }
    if (!mbit) continue;
    plot.series[i].points.emplace_back(*mbit, outcome.rate);
    if (*mbit == 20 && i == 0) {
      report.goals.push_back({"insert rate at 20 Mbit/s, of unlimited", "%", share, 95, false,
                              fmt::format("{}, {} members on one line of the primary", workload.name, arguments.members)});
    }
  }
  Figure figure{"6.5", "Insertion throughput under limited bandwidth", {}, {}, {}, {}};
  figure.plots.push_back(std::move(plot));
  figure.tables.push_back(std::move(table));
  figure.notes.push_back(
      fmt::format("Every member in a network namespace, tc tbf on what each sends; all secondaries share the primary's line. One "
                  "connection on the primary's host, {} documents a "
                  "command, w: {}; all members waited for every {} records and at the end.",
                  arguments.batch, arguments.concern, arguments.synchronize));
  report.figures.push_back(std::move(figure));
  finish(report, arguments.common.report_folder);
  return 0;
}

}  // namespace

Run add_bandwidth(CLI::App& parser) {
  auto arguments = std::make_shared<Arguments>();
  add_common(parser, arguments->common);
  add_inserted(parser, arguments->inserted);
  parser.add_option("--mbit", arguments->mbits, "bandwidths of the lines, beside unlimited ones")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  parser.add_option("--members", arguments->members, "how many members the set has")
      ->capture_default_str()
      ->check(CLI::Range(2, 7));
  parser.add_option("--records", arguments->records, "the most records of each run")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  parser.add_option("--seconds", arguments->seconds, "no insert begins after this time, in each run")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  parser.add_option("--batch", arguments->batch, "how many documents one command has")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  parser.add_option("--synchronize", arguments->synchronize, "wait for all members every so many records (dbDedup: 1000)")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  parser.add_option("--turns", arguments->turns, "how many runs each has; the report gives their median")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  parser.add_option("--w", arguments->concern, "write concern of the inserts")->capture_default_str();
  return [arguments] { return run(*arguments); };
}

}  // namespace bench::sets
