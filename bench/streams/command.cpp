// Measures open change streams on a replica set of one member, while documents are inserted at a steady rate.
#include "bench/streams/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "bench/measure/cpu_clock.h"
#include "bench/measure/interrupt.h"
#include "bench/measure/process.h"
#include "bench/measure/replica_set.h"
#include "bench/options.h"
#include "bench/sets/command.h"
#include "bench/streams/listeners.h"
#include "bench/streams/writes.h"
#include "bson/builder.h"

namespace bench::streams {
namespace {

// The figures to reach are those of this number of streams.
constexpr size_t goal_streams = 100;
constexpr double goal_delay_ms = 5, goal_kilobytes = 64;

struct Settings {
  sets::Common common;
  std::vector<size_t> streams = {1, 100, 1000};
  std::vector<std::string> listen = {"everything", "nothing", "elsewhere"};
  double rate = 1000, seconds = 5;
  size_t bytes = 200, writers = 16;
  int laps = 3;
  bool tiny = false;
};

struct Cell {
  std::vector<double> cpu_percent, p50_ms, p99_ms, kilobytes, events;
};

double resident_bytes(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  double pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

Listen listen_of(const std::string& name) {
  return name == "everything" ? Listen::everything : name == "nothing" ? Listen::nothing : Listen::elsewhere;
}

void measure(const Settings& settings, const Server& server, Writes& writes, size_t& written, size_t streams, Listen listen,
             Cell& cell) {
  const double before = resident_bytes(server.pid());
  std::optional<Listeners> listeners;
  if (streams > 0) listeners.emplace(server.host(), streams, listen, writes, written);
  const double opened = resident_bytes(server.pid());
  const Usage start = usage_of(server.pid());
  const auto begun = std::chrono::steady_clock::now();
  written =
      writes.run(server.host(), settings.writers, settings.rate, std::chrono::duration<double>(settings.seconds), settings.bytes);
  if (listeners) listeners->finish(written);
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  cell.cpu_percent.push_back(100 * (usage_of(server.pid()) - start).cpu_seconds / took);
  if (!listeners) return;
  cell.kilobytes.push_back((opened - before) / 1024 / static_cast<double>(streams));
  cell.events.push_back(static_cast<double>(listeners->events()) / took);
  if (listen != Listen::everything) return;
  const Latency delays = listeners->delays();
  cell.p50_ms.push_back(delays.p50_us / 1000);
  cell.p99_ms.push_back(delays.p99_us / 1000);
}

std::string text(const std::vector<double>& laps, int digits) {
  return laps.empty() ? "" : fmt::format("{:.{}f}", median(laps), digits);
}

int run(Settings& settings) {
  clean_up_when_interrupted();
  if (settings.tiny) {
    settings.streams = {1, 10};
    settings.rate = 200;
    settings.seconds = 0.3;
    settings.laps = 1;
  }
  Report report;
  report.title = "Open change streams";
  report.command = fmt::format("palimpsest bench streams --streams {} --listen {} --rate {} --seconds {} --bytes {} --laps {}",
                               fmt::join(settings.streams, " "), fmt::join(settings.listen, " "), settings.rate, settings.seconds,
                               settings.bytes, settings.laps);
  begin(report);
  const ReplicaSet set({.program = sets::server_of(settings.common),
                        .members = 1,
                        .arguments = {"--wiredTigerCacheSizeGB", "1", "--quiet"},
                        .scratch = settings.common.scratch});
  const Server& server = set.primary();
  const size_t cells = 1 + settings.streams.size() * settings.listen.size();
  const auto each = static_cast<size_t>(settings.rate * settings.seconds) + 1;
  Writes writes(each * (cells * static_cast<size_t>(settings.laps) + 1));
  size_t written = writes.run(server.host(), settings.writers, settings.rate, std::chrono::duration<double>(settings.seconds / 2),
                              settings.bytes);
  std::map<std::pair<size_t, std::string>, Cell> measured;
  Cell none;
  for (int lap = 0; lap < settings.laps; ++lap) {
    measure(settings, server, writes, written, 0, Listen::everything, none);
    for (const size_t streams : settings.streams) {
      for (const std::string& listen : settings.listen)
        measure(settings, server, writes, written, streams, listen_of(listen), measured[{streams, listen}]);
    }
  }
  Figure figure;
  figure.number = "C1";
  figure.title = fmt::format("{:.0f} inserts a second of {} bytes, acknowledged by the majority", settings.rate, settings.bytes);
  figure.notes.push_back(
      "CPU is the server's alone, as a share of one processor. The delay is from the insert's acknowledgement to its event, at "
      "the "
      "client. Resident memory is what the server's grew by when the streams were opened. All figures are medians of the laps.");
  Table table{"", {"streams", "that see", "CPU, %", "events/s", "delay p50, ms", "p99, ms", "resident KB a stream"}, {}};
  table.rows.push_back({"0", "", text(none.cpu_percent, 1), "", "", "", ""});
  for (const auto& [key, cell] : measured) {
    table.rows.push_back({std::to_string(key.first), key.second, text(cell.cpu_percent, 1), text(cell.events, 0),
                          text(cell.p50_ms, 2), text(cell.p99_ms, 2), text(cell.kilobytes, 1)});
    if (key.first != goal_streams || key.second != "everything") continue;
    report.goals.push_back(
        {fmt::format("delay of an event, p99, {} streams", goal_streams), "ms", median(cell.p99_ms), goal_delay_ms, true, ""});
    report.goals.push_back({fmt::format("resident memory of a stream, {} streams", goal_streams), "KB", median(cell.kilobytes),
                            goal_kilobytes, true, "with the connection's"});
  }
  figure.tables.push_back(std::move(table));
  report.figures.push_back(std::move(figure));
  finish(report, settings.common.report_folder);
  return 0;
}

}  // namespace

Run add_options(CLI::App& parser) {
  auto settings = std::make_shared<Settings>();
  sets::add_common(parser, settings->common);
  CLI::Option* const tiny = parser.add_flag("--tiny", settings->tiny, "a few streams for a moment, to see that it works");
  parser.add_option("--streams", settings->streams, "numbers of open streams, each with a connection")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000))
      ->excludes(tiny);
  parser.add_option("--listen", settings->listen, "what the streams see: everything, nothing (by a $match) or elsewhere")
      ->check(CLI::IsMember({"everything", "nothing", "elsewhere"}));
  parser.add_option("--rate", settings->rate, "inserts a second")
      ->capture_default_str()
      ->check(CLI::Range(1.0, 100'000.0))
      ->excludes(tiny);
  parser.add_option("--seconds", settings->seconds, "how long a lap is")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 600.0))
      ->excludes(tiny);
  parser.add_option("--bytes", settings->bytes, "the size of a document's text")
      ->capture_default_str()
      ->check(CLI::Range(size_t{1}, size_t{1} << 20));
  parser.add_option("--laps", settings->laps, "how many laps each cell has; figures are their medians")
      ->capture_default_str()
      ->check(CLI::Range(1, 100))
      ->excludes(tiny);
  return [settings] { return run(*settings); };
}

}  // namespace bench::streams
