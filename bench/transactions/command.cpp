// Measures transactions of two updates beside the same updates without a transaction, on a replica set of one member.
#include "bench/transactions/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "bench/measure/cpu_clock.h"
#include "bench/measure/interrupt.h"
#include "bench/measure/process.h"
#include "bench/measure/replica_set.h"
#include "bench/options.h"
#include "bench/sets/command.h"
#include "bench/transactions/accounts.h"
#include "bench/transactions/transfers.h"
#include "bson/builder.h"

namespace bench::transactions {
namespace {

// The figures to reach are those without contention, of this number of clients.
constexpr size_t goal_clients = 8;
constexpr double goal_rate_percent = 60, goal_cpu_us = 20;

struct Settings {
  sets::Common common;
  size_t accounts = 10'000;
  std::vector<size_t> clients = {1, 8, 32};
  std::vector<std::string> spreads = {"uniform", "hot"}, modes = {"separate", "transaction"};
  double seconds = 2;
  int laps = 5;
  bool majority = false, tiny = false;
};

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A Cell has the laps of one mode.
struct Cell {
  std::vector<double> rates, statements, aborted_percent, p50_us, p99_us, cpu_us;

  void add(const Transferred& lap, double cpu_seconds) {
    const auto transfers = static_cast<double>(lap.transfers), aborted = static_cast<double>(lap.aborted);
    rates.push_back(transfers / lap.seconds);
    statements.push_back(static_cast<double>(lap.statements) / lap.seconds);
    aborted_percent.push_back(100 * aborted / (transfers + aborted));
    p50_us.push_back(lap.latency.p50_us);
    p99_us.push_back(lap.latency.p99_us);
    cpu_us.push_back(cpu_seconds * 1e6 / transfers);
  }
};

struct Measured {
  std::map<Mode, Cell> cells;
  std::map<std::string, uint64_t> errors;

  bool has_both() const { return cells.size() == 2; }
  // Returns the rate of each lap of transactions as a share of the rate of the lap of separate writes beside it.
  std::vector<double> rates_percent() const {
    return compare(
        [](const Cell& separate, const Cell& transaction, size_t i) { return 100 * transaction.rates[i] / separate.rates[i]; });
  }
  std::vector<double> added_cpu_us() const {
    return compare(
        [](const Cell& separate, const Cell& transaction, size_t i) { return transaction.cpu_us[i] - separate.cpu_us[i]; });
  }

 private:
  template <class Compare>
  std::vector<double> compare(Compare&& with) const {
    const Cell &separate = cells.at(Mode::separate), &transaction = cells.at(Mode::transaction);
    std::vector<double> all;
    for (size_t i = 0; i < separate.rates.size(); ++i) all.push_back(with(separate, transaction, i));
    return all;
  }
};

std::string range_text(const std::vector<double>& laps) {
  const auto [least, most] = std::minmax_element(laps.begin(), laps.end());
  return fmt::format("laps {} to {}", number_text(*least), number_text(*most));
}

bson::Document write_concern(const Settings& settings) {
  bson::Builder out;
  if (settings.majority)
    out.append("w", "majority");
  else
    out.append("w", 1);
  return out.done();
}

// The modes take turns, and each is first in every other round: the machine's other work, and what the server puts off until
// later, meet both.
Measured measure(const Settings& settings, const Server& server, Accounts& accounts, Spread spread, size_t clients) {
  Transfers transfers(server.host(), clients, accounts, write_concern(settings));
  std::vector<Mode> modes;
  if (has(settings.modes, "separate")) modes.push_back(Mode::separate);
  if (has(settings.modes, "transaction")) modes.push_back(Mode::transaction);
  for (const Mode mode : modes) transfers.run(mode, spread, std::chrono::duration<double>(settings.seconds / 4));
  Measured measured;
  for (int lap = 0; lap < settings.laps; ++lap) {
    for (const Mode mode : modes) {
      const Usage before = usage_of(server.pid());
      const Transferred did = transfers.run(mode, spread, std::chrono::duration<double>(settings.seconds));
      measured.cells[mode].add(did, (usage_of(server.pid()) - before).cpu_seconds);
      for (const auto& [name, times] : did.errors) measured.errors[name] += times;
    }
    std::reverse(modes.begin(), modes.end());
  }
  return measured;
}

std::vector<std::string> row_of(size_t clients, Mode mode, const Cell& cell) {
  return {std::to_string(clients),
          mode == Mode::transaction ? "transaction" : "separate",
          fmt::format("{:.0f}", median(cell.rates)),
          fmt::format("{:.0f}", median(cell.statements)),
          fmt::format("{:.1f}", median(cell.aborted_percent)),
          fmt::format("{:.0f}", median(cell.p50_us)),
          fmt::format("{:.0f}", median(cell.p99_us)),
          fmt::format("{:.1f}", median(cell.cpu_us))};
}

void add_goals(Report& report, size_t clients, const Measured& measured) {
  const Cell &separate = measured.cells.at(Mode::separate), &transaction = measured.cells.at(Mode::transaction);
  const std::vector<double> rates = measured.rates_percent(), cpu = measured.added_cpu_us();
  report.goals.push_back({fmt::format("transactions, of the rate of the separate writes, uniform, {} clients", clients), "%",
                          median(rates), goal_rate_percent, false,
                          fmt::format("{}; medians {:.0f} and {:.0f} transfers a second", range_text(rates),
                                      median(transaction.rates), median(separate.rates))});
  report.goals.push_back({fmt::format("CPU of a transaction over that of its two writes, uniform, {} clients", clients), "µs",
                          median(cpu), goal_cpu_us, true,
                          fmt::format("{}; medians {:.1f} and {:.1f} µs, with all threads of the server", range_text(cpu),
                                      median(transaction.cpu_us), median(separate.cpu_us))});
}

Figure measure_spread(const Settings& settings, const Server& server, Accounts& accounts, Spread spread, Report& report) {
  Figure figure;
  if (spread == Spread::uniform) {
    figure.number = "X1";
    figure.title = fmt::format("Transfers between any of {} accounts", settings.accounts);
  } else {
    figure.number = "X2";
    figure.title =
        fmt::format("Transfers, {:.0f} % of them between {} of {} accounts", 100 * hot_share, hot_accounts, settings.accounts);
  }
  Table table{"", {"clients", "mode", "transfers/s", "statements/s", "aborted, %", "p50 µs", "p99 µs", "CPU µs a transfer"}, {}};
  Table beside{"Transactions beside separate writes", {"clients", "transfers, of separate ones, %", "CPU over separate, µs"}, {}};
  std::map<std::string, uint64_t> errors;
  for (const size_t clients : settings.clients) {
    const Measured measured = measure(settings, server, accounts, spread, clients);
    for (const auto& [mode, cell] : measured.cells) table.rows.push_back(row_of(clients, mode, cell));
    for (const auto& [name, times] : measured.errors) errors[name] += times;
    if (!measured.has_both()) continue;
    beside.rows.push_back({std::to_string(clients), fmt::format("{:.1f}", median(measured.rates_percent())),
                           fmt::format("{:.1f}", median(measured.added_cpu_us()))});
    if (spread == Spread::uniform && clients == goal_clients) add_goals(report, clients, measured);
  }
  figure.notes.push_back(
      "CPU time is the server's alone. All figures are medians of the laps; a transfer's latency has its aborted attempts in "
      "it.");
  figure.tables.push_back(std::move(table));
  if (!beside.rows.empty()) figure.tables.push_back(std::move(beside));
  for (const auto& [name, times] : errors) figure.notes.push_back(fmt::format("{} aborted transactions {} times.", name, times));
  return figure;
}

int run(Settings& settings) {
  clean_up_when_interrupted();
  if (settings.tiny) {
    settings.accounts = 100;
    settings.clients = {1, 4};
    settings.seconds = 0.1;
    settings.laps = 1;
  }
  Report report;
  report.title = "Transactions of two updates";
  report.command =
      fmt::format("palimpsest bench transactions --accounts {} --clients {} --spread {} --mode {} --seconds {} --laps {}{}",
                  settings.accounts, fmt::join(settings.clients, " "), fmt::join(settings.spreads, " "),
                  fmt::join(settings.modes, " "), settings.seconds, settings.laps, settings.majority ? " --majority" : "");
  begin(report);
  report.about.emplace_back("write concern", settings.majority ? "majority" : "1");
  const ReplicaSet set({.program = sets::server_of(settings.common),
                        .members = 1,
                        .arguments = {"--wiredTigerCacheSizeGB", "1", "--quiet"},
                        .scratch = settings.common.scratch});
  const Server& server = set.primary();
  Accounts accounts(settings.accounts);
  Clients teller(server.host(), 1);
  accounts.fill(teller);
  if (!settings.tiny) server.wait_until_idle();
  for (const Spread spread : {Spread::uniform, Spread::hot}) {
    if (!has(settings.spreads, spread == Spread::hot ? "hot" : "uniform")) continue;
    report.figures.push_back(measure_spread(settings, server, accounts, spread, report));
    accounts.verify(teller);
    report.figures.back().notes.emplace_back("Afterwards every balance was what the transfers make of it.");
  }
  finish(report, settings.common.report_folder);
  return 0;
}

}  // namespace

Run add_options(CLI::App& parser) {
  auto settings = std::make_shared<Settings>();
  sets::add_common(parser, settings->common);
  CLI::Option* const tiny = parser.add_flag("--tiny", settings->tiny, "a few accounts for a moment, to see that it works");
  parser.add_option("--accounts", settings->accounts, "how many accounts there are")
      ->capture_default_str()
      ->check(CLI::Range(2 * hot_accounts, size_t{100'000}))
      ->excludes(tiny);
  parser.add_option("--clients", settings->clients, "numbers of clients, each with a connection and a session")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024))
      ->excludes(tiny);
  parser.add_option("--spread", settings->spreads, "measure this alone; give it again for others")
      ->check(CLI::IsMember({"uniform", "hot"}));
  parser.add_option("--mode", settings->modes, "measure this alone; give it again for others")
      ->check(CLI::IsMember({"separate", "transaction"}));
  parser.add_option("--seconds", settings->seconds, "how long a lap of one mode is")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 600.0))
      ->excludes(tiny);
  parser.add_option("--laps", settings->laps, "how many laps each mode has; figures are their medians")
      ->capture_default_str()
      ->check(CLI::Range(1, 100))
      ->excludes(tiny);
  parser.add_flag("--majority", settings->majority, "writes are acknowledged by the majority, and are on disk then");
  return [settings] { return run(*settings); };
}

}  // namespace bench::transactions
