// This measures writes that the majority acknowledges, through the real server: to many records, and to one record that all
// clients write.
#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/random.h"
#include "bench/measure/interrupt.h"
#include "bench/measure/network.h"
#include "bench/measure/replica_set.h"
#include "bench/options.h"
#include "bench/sets/command.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "datasets/replay/client.h"

namespace bench::sets {
namespace {

using datasets::replay::Client;

struct Arguments {
  Common common;
  std::vector<int> in_flight{1, 16, 64};
  size_t members = 3, bytes = 16384;
  double seconds = 5, delay_ms = 0;
  int hot_clients = 64;
  std::string consensus;  // the program of the consensus benchmarks
};

using Clock = std::chrono::steady_clock;

// Returns the writes a second by so many connections, each with one in flight; `write` gets its connection and its number there.
double load(const ReplicaSet& set, int connections, double seconds, const std::function<void(Client&, int, uint64_t)>& write) {
  std::atomic<uint64_t> written{0};
  std::mutex mutex;
  std::exception_ptr failure;
  std::vector<std::thread> threads;
  const auto warm = Clock::now() + std::chrono::milliseconds(500),
             end = warm + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  for (int i = 0; i < connections; ++i) {
    threads.emplace_back([&, i] {
      try {
        Client client(set.uri("w=majority"));
        for (uint64_t n = 0;; ++n) {
          const auto begun = Clock::now();
          if (begun >= end) return;
          write(client, i, n);
          if (begun >= warm) ++written;
        }
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  return static_cast<double>(written) / std::chrono::duration<double>(Clock::now() - warm).count();
}

double inserts(const ReplicaSet& set, int connections, double seconds, size_t bytes) {
  static std::atomic<uint64_t> round{0};
  const uint64_t seed = ++round << 32;
  return load(set, connections, seconds, [&](Client& client, int connection, uint64_t n) {
    base::Random random(seed + (static_cast<uint64_t>(connection) << 20) + n);
    std::string data(bytes, '\0');
    for (size_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
      const uint64_t word = random();
      std::copy_n(reinterpret_cast<const char*>(&word), sizeof word, data.data() + i);
    }
    bson::Builder builder;
    builder.append("data", bson::Binary{.subtype = 0, .bytes = bson::BytesView(data)});
    const bson::Document document = builder.done();
    if (!client.insert("majority", "records", {document}).empty()) throw std::runtime_error("an insert failed");
  });
}

double hot(const ReplicaSet& set, int connections, double seconds) {
  bson::Builder builder;
  builder.append("_id", 1).append("n", int64_t{0});
  const bson::Document document = builder.done();
  Client(set.uri("w=majority")).insert("majority", "hot", {document});
  bson::Builder update;
  update.append("update", "hot");
  {
    auto list = update.array("updates");
    auto one = list.object();
    one.object("q").append("_id", 1);
    auto change = one.object("u");
    change.object("$inc").append("n", int64_t{1});
  }
  update.object("writeConcern").append("w", "majority");
  const bson::Document command = update.done();
  return load(set, connections, seconds, [&](Client& client, int, uint64_t) {
    if (client.command("majority", command)["nModified"].to_int64() != 1) throw std::runtime_error("an update changed nothing");
  });
}

// Returns the entries a second, by the number in flight, of the consensus core alone with its log and transport; empty without
// its program.
std::vector<std::pair<int, double>> consensus_alone(const Arguments& arguments) {
  std::vector<std::pair<int, double>> rates;
  if (arguments.consensus.empty()) return rates;
  for (const int in_flight : arguments.in_flight) {
    const std::string command =
        fmt::format("'{}' --benchmark_filter='replicate/in_flight:{}/bytes:{}/' --benchmark_format=json 2> /dev/null",
                    arguments.consensus, in_flight, arguments.bytes);
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);  // NOLINT: the user's own program
    if (!pipe) throw std::runtime_error(arguments.consensus + " cannot be started");
    std::string text;
    char buffer[4096];
    while (const size_t bytes = fread(buffer, 1, sizeof buffer, pipe.get())) text.append(buffer, bytes);
    auto report = bson::from_json(text);
    if (!report.ok()) throw std::runtime_error(arguments.consensus + ": " + report.failure().message);
    const bson::Document parsed = std::move(report).value();
    for (const bson::Element& each : parsed.find("benchmarks").as_document()) {
      const bson::Element rate = each.as_document()["items_per_second"];
      if (rate.exists()) rates.emplace_back(in_flight, rate.to_double());
    }
  }
  return rates;
}

int run(const Arguments& arguments) {
  Report report;
  report.title = "Writes acknowledged by the majority";
  report.command = fmt::format("palimpsest bench majority --members {} --bytes {} --seconds {} --delay-ms {} --hot-clients {}",
                               arguments.members, arguments.bytes, arguments.seconds, arguments.delay_ms, arguments.hot_clients);
  const std::string server = server_of(arguments.common);
  begin(report);
  clean_up_when_interrupted();
  std::optional<Network> network;
  if (arguments.delay_ms > 0) {
    network.emplace(arguments.members, Network::Lines::delayed);
    network->delay(arguments.delay_ms);
  }
  SetOptions options{.program = server,
                     .members = arguments.members,
                     .arguments = {"--wiredTigerCacheSizeGB", "0.5", "--quiet"},
                     .scratch = arguments.common.scratch};
  options.network = network ? &*network : nullptr;

  Figure figure{"majority", fmt::format("{} members, {:.0f} ms from one to another", arguments.members, arguments.delay_ms),
                {},         {},
                {},         {}};
  const auto alone = arguments.delay_ms > 0 ? std::vector<std::pair<int, double>>{} : consensus_alone(arguments);
  Table table{fmt::format("Inserts of {} random bytes, one a command", arguments.bytes),
              {"in flight", "inserts/s", "consensus alone, entries/s", "of it, %", "CPU, ms a write"},
              {}};
  {
    ReplicaSet set(options);
    for (const int in_flight : arguments.in_flight) {
      const double cpu = set.cpu_seconds();
      const double rate = inserts(set, in_flight, arguments.seconds, arguments.bytes);
      const double cpu_ms = (set.cpu_seconds() - cpu) * 1000 / (rate * (arguments.seconds + 0.5));
      double beside = 0;
      for (const auto& [n, entries] : alone) {
        if (n == in_flight) beside = entries;
      }
      table.rows.push_back({std::to_string(in_flight), number_text(rate), beside > 0 ? number_text(beside) : "-",
                            beside > 0 ? number_text(100 * rate / beside) : "-", number_text(cpu_ms)});
      std::cerr << fmt::format("{} in flight: {:.0f} inserts/s, consensus alone {:.0f}\n", in_flight, rate, beside);
      if (beside > 0)
        report.goals.push_back({fmt::format("inserts of {} B with {} in flight, of consensus alone", arguments.bytes, in_flight),
                                "%", 100 * rate / beside, 50, false, ""});
    }
    const double rate = hot(set, arguments.hot_clients, arguments.seconds);
    std::cerr << fmt::format("hot document: {:.0f} updates/s by {} clients\n", rate, arguments.hot_clients);
    figure.tables.push_back(std::move(table));
    figure.tables.push_back(
        {"$inc of one document", {"clients", "updates/s"}, {{std::to_string(arguments.hot_clients), number_text(rate)}}});
    report.goals.push_back({fmt::format("updates of one document, {:.0f} ms between members", arguments.delay_ms), "1/s", rate,
                            1000, false, fmt::format("{} clients", arguments.hot_clients)});
  }
  report.figures.push_back(std::move(figure));
  finish(report, arguments.common.report_folder);
  return 0;
}

}  // namespace

Run add_majority(CLI::App& parser) {
  auto arguments = std::make_shared<Arguments>();
  add_common(parser, arguments->common);
  parser.add_option("--in-flight", arguments->in_flight, "numbers of connections, each with one insert under way")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  parser.add_option("--bytes", arguments->bytes, "the bytes of a record")->capture_default_str()->check(CLI::Range(1, 16 << 20));
  parser.add_option("--members", arguments->members, "how many members the set has")
      ->capture_default_str()
      ->check(CLI::Range(1, 7));
  parser.add_option("--seconds", arguments->seconds, "how long each measurement takes")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  parser.add_option("--delay-ms", arguments->delay_ms, "the delay from one member to another, one way; needs root")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  parser.add_option("--hot-clients", arguments->hot_clients, "numbers of clients that increment one document")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  parser.add_option("--consensus", arguments->consensus, "the program consensus_benchmarks, to measure beside");
  return [arguments] { return run(*arguments); };
}

}  // namespace bench::sets
