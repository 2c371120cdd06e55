// Figures 6.3 and 6.8, and the goals of a server under load, show what dedup costs clients that wait for an
// answer.
#include <fmt/core.h>

#include <chrono>
#include <thread>

#include "bench/chapter6/figures.h"
#include "bench/chapter6/load.h"
#include "bench/measure/scratch.h"

namespace bench::chapter6 {
namespace {

constexpr int turns_a_round = 5;
constexpr double operations_a_second = 3000;  // about the time that a round takes on one connection

size_t operations_a_round(const Suite& suite) {
  return std::max<size_t>(40, static_cast<size_t>(suite.settings.round_seconds * operations_a_second));
}

// Half of the records, at most 10,000 (dbDedup §6.1), are inserted before the measurement.
size_t populated(const Workload& workload) {
  return std::min<size_t>(10'000, workload.records.size() / 2);
}

std::vector<Rival> rivals_of(const std::vector<std::pair<std::string, std::vector<std::string>>>& kinds) {
  std::vector<Rival> rivals;
  for (const auto& [name, arguments] : kinds) {
    Rival& rival = rivals.emplace_back();
    rival.name = name;
    rival.arguments = arguments;
    rival.arguments.insert(rival.arguments.end(), {"--wiredTigerCacheSizeGB", "1", "--quiet"});
  }
  return rivals;
}

void start_all(const Load& load, const Suite& suite, std::vector<Rival>& rivals, size_t first = 0) {
  for (Rival& rival : rivals) rival.server.reset();
  for (size_t i = 0; i < rivals.size(); ++i)
    load.start(rivals[(first + i) % rivals.size()], suite.settings.server, suite.settings.scratch);
}

Series distribution(const Rival& rival) {
  Series series{rival.name, {}};
  for (const double q : {.01, .05, .1, .2, .3, .4, .5, .6, .7, .8, .85, .9, .95, .98, .99, .995, .999})
    series.points.emplace_back(rival.quantile(q) / 1000, q * 100);
  return series;
}

// Returns by how many per cent `other` was slower, smallest first.
std::vector<double> losses_by_turn(const Rival& rival, const Rival& other) {
  std::vector<double> losses;
  for (size_t i = 0; i < std::min(rival.rates.size(), other.rates.size()); ++i)
    losses.push_back((1 - other.rates[i] / rival.rates[i]) * 100);
  std::sort(losses.begin(), losses.end());
  return losses;
}

bool no_server(Suite& suite, Figure& figure) {
  if (!suite.settings.server.empty()) return false;
  figure.notes.push_back("Not measured: there is no palimpsestd beside this program, and --server names none.");
  return true;
}

}  // namespace

void performance_impact(Suite& suite) {
  Figure figure{"6.3", "Performance impact", {}, {}, {}, {}};
  if (no_server(suite, figure)) {
    suite.report.figures.push_back(std::move(figure));
    return;
  }
  const std::vector<std::pair<std::string, std::vector<std::string>>> kinds = {
      {"none", {"--nodedup", "--wiredTigerCollectionBlockCompressor", "none"}},
      {"dedup", {"--wiredTigerCollectionBlockCompressor", "none"}},
      {"snappy", {"--nodedup", "--wiredTigerCollectionBlockCompressor", "snappy"}},
  };
  Table table{"Medians of the rounds", {"", "", "operations/s", "of none", "p50, ms", "p99", "p99.9"}, {}};
  double slowest = 1, tail = 0;
  for (const char* name : four) {
    const Workload& workload = suite.by_time(name);
    Load load(workload, populated(workload));
    std::vector<Rival> rivals = rivals_of(kinds);
    start_all(load, suite, rivals);
    const size_t operations = operations_a_round(suite);
    interleave(load, rivals, suite.settings.rounds, 2 * suite.settings.round_seconds, [&] {
      const std::string workload_name = name;
      if (workload_name == "wiki") return load.mixed(operations, 0.001);
      return load.inserts_with_reads(operations, workload_name == "mail"     ? Load::Follow::once
                                                 : workload_name == "boards" ? Load::Follow::thread
                                                                             : Load::Follow::views);
    });
    BarChart chart{std::string(name) + ": operations a second", {}};
    Plot plot{std::string(name) + ": latencies", "ms", "% of the operations", true, {}};
    for (const Rival& rival : rivals) {
      const double part = rivals[0].median_rate() > 0 ? rival.median_rate() / rivals[0].median_rate() : 0;
      chart.bars.push_back({rival.name, rival.median_rate(), 0, {}});
      if (rival.name != "snappy") plot.series.push_back(distribution(rival));
      table.rows.push_back({name, rival.name, number_text(rival.median_rate()), fmt::format("{:.1f} %", part * 100),
                            number_text(rival.quantile(.5) / 1000), number_text(rival.quantile(.99) / 1000),
                            number_text(rival.quantile(.999) / 1000)});
      suite.say(fmt::format("{}, {}: {:.0f} operations/s, p99.9 {:.2f} ms", name, rival.name, rival.median_rate(),
                            rival.quantile(.999) / 1000));
      if (rival.name == "dedup") {
        slowest = std::min(slowest, part);
        tail = std::max(tail, rival.quantile(.999) / std::max(rivals[0].quantile(.999), 1e-9) - 1);
      }
    }
    figure.charts.push_back(std::move(chart));
    figure.plots.push_back(std::move(plot));
  }
  figure.tables.push_back(std::move(table));
  figure.notes.push_back(
      "One connection, the client on the same machine; the same operations on every server in turns, another one first each "
      "round. Reads: wiki 99.9 to 0.1 by "
      "popularity, mail one after each insert, stackexchange as often as viewed, boards the thread so far.");
  suite.report.figures.push_back(std::move(figure));
  suite.claim({"6.3", "Dedup has a negligible effect on throughput",
               fmt::format("at worst {:.1f} % of that without", slowest * 100), slowest >= 0.97});
  suite.claim({"6.3", "The latency's 99.9th percentile differs by less than 1 %", fmt::format("at worst {:+.1f} %", tail * 100),
               tail < 0.01});
}

void load_goals(Suite& suite) {
  if (suite.settings.server.empty()) return;
  const Workload& workload = suite.by_time("wiki");
  struct Mix {
    const char* name;
    double writes;  // above 1: nothing but inserts, in batches
    double reach;   // per cent
  };
  for (const Mix& mix : {Mix{"99.9/0.1", 0.001, 1}, Mix{"95/5", 0.05, 1}, Mix{"50/50", 0.5, 5}, Mix{"insert bursts", 2, 10}}) {
    std::vector<Rival> rivals = rivals_of({{"off", {"--nodedup"}}, {"on", {}}, {"off, another one", {"--nodedup"}}});
    // Turns are short, so that the machine's ups and downs, which last longer, fall on both. There are several processes of each,
    // because the place of a process's memory makes it faster or slower for as long as it runs, by more than what is measured
    // here.
    const int starts = suite.settings.rounds, turns = turns_a_round;
    const size_t operations = operations_a_round(suite) / turns_a_round, left = workload.records.size() - populated(workload);
    for (int start = 0; start < starts; ++start) {
      Load load(workload, populated(workload));
      start_all(load, suite, rivals, static_cast<size_t>(start));
      interleave(load, rivals, turns, 2 * suite.settings.round_seconds, [&] {
        if (mix.writes > 1) return load.inserts(left / 2 / static_cast<size_t>(turns), 70);
        return load.mixed(std::min(operations, static_cast<size_t>(static_cast<double>(left) / mix.writes / turns)), mix.writes);
      });
    }
    const std::vector<double> losses = losses_by_turn(rivals[0], rivals[1]), noise = losses_by_turn(rivals[0], rivals[2]);
    const double off = rivals[0].quantile(.999), on = rivals[1].quantile(.999), off_again = rivals[2].quantile(.999);
    suite.say(fmt::format("{}: {:.0f} off, {:.0f} on operations/s; p99.9 {:.2f}, {:.2f} ms", mix.name, rivals[0].median_rate(),
                          rivals[1].median_rate(), off / 1000, on / 1000));
    suite.goal({fmt::format("throughput lost with dedup on, {}", mix.name), "%", losses.empty() ? 100 : losses[losses.size() / 2],
                mix.reach, true,
                losses.empty() || noise.empty()
                    ? "nothing measured"
                    : fmt::format("{:.0f} operations/s off, {:.0f} on; the middle half of {} turns {:.0f} to {:.0f} %; between "
                                  "two servers without it {:.1f} %, {:.0f} to {:.0f} %",
                                  rivals[0].median_rate(), rivals[1].median_rate(), losses.size(), losses[losses.size() / 4],
                                  losses[losses.size() * 3 / 4], noise[noise.size() / 2], noise[noise.size() / 4],
                                  noise[noise.size() * 3 / 4])});
    // CPU times stand beside the clock's, because other work on the machine changes them much less.
    const double answering_off = rivals[0].median_answering(), answering_on = rivals[1].median_answering();
    suite.goal({fmt::format("CPU time of the server's answers added with dedup on, {}", mix.name), "%",
                answering_off > 0 ? (answering_on / answering_off - 1) * 100 : 100, mix.reach, true,
                fmt::format("{:.1f} µs an operation off, {:.1f} on, {:.1f} of another server without it, medians of the turns; "
                            "other threads beside it {:.1f}, {:.1f}, {:.1f}, the encoder's {:.1f}",
                            answering_off, answering_on, rivals[2].median_answering(), rivals[0].median_others(),
                            rivals[1].median_others(), rivals[2].median_others(), rivals[1].median_encoding())});
    suite.goal({fmt::format("p99.9 latency added with dedup on, {}", mix.name), "%", off > 0 ? (on / off - 1) * 100 : 100,
                mix.reach, true,
                fmt::format("{:.2f} ms off, {:.2f} ms on, {:.2f} ms of another server without it", off / 1000, on / 1000,
                            off_again / 1000)});
  }
}

void write_back_bursts(Suite& suite) {
  const Workload& workload = suite.by_time("wiki");
  constexpr int bursts = 6;
  Plot plot{"Inserts a second in bursts, with rests between them", "seconds", "inserts/s", false, {}};
  double rates[2] = {};
  int kind = 0;
  for (const auto& [name, bytes] :
       {std::pair{"8 MB write-back cache", uint64_t{8} << 20}, {"64 KB: written back at once", uint64_t{64} << 10}}) {
    const Scratch folder(suite.settings.scratch);
    Stored stored(folder.path(), {.profile = "thesis", .block_compressor = "none", .write_back_bytes = bytes});
    Series series{name, {}};
    const auto begun = std::chrono::steady_clock::now();
    auto now = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(); };
    double busy = 0;
    const size_t a_burst = workload.records.size() / bursts, a_step = std::max<size_t>(100, a_burst / 10);
    for (int burst = 0; burst < bursts; ++burst) {
      const double burst_begun = now();
      series.points.emplace_back(burst_begun, 0);
      for (size_t done = 0; done < a_burst; done += a_step) {
        const size_t first = static_cast<size_t>(burst) * a_burst + done,
                     last = std::min(first + a_step, (static_cast<size_t>(burst) + 1) * a_burst);
        const double step_begun = now();
        stored.load(workload, first, last);
        const double step_ended = now();
        series.points.emplace_back((step_begun + step_ended) / 2,
                                   static_cast<double>(last - first) / std::max(step_ended - step_begun, 1e-6));
      }
      busy += now() - burst_begun;
      series.points.emplace_back(now(), 0);
      std::this_thread::sleep_for(std::chrono::duration<double>(std::min(3.0, now() - burst_begun)));
    }
    rates[kind++] = static_cast<double>(a_burst * bursts) / busy;
    plot.series.push_back(std::move(series));
  }
  Figure& figure = suite.figure("6.8", "Write-back cache in bursts");
  figure.plots.push_back(std::move(plot));
  figure.notes.push_back(fmt::format(
      "While it inserts: {:.0f} a second with the cache, {:.0f} with one that is written back as soon as a few deltas lie in it. "
      "The thesis's disk is busy with the extra writes; here they are done by a thread of their own.",
      rates[0], rates[1]));
  suite.claim({"6.8", "The write-back cache avoids a slow-down in bursts",
               fmt::format("{:.0f} inserts/s with it, {:.0f} without", rates[0], rates[1]), rates[0] > rates[1] * 1.03});
}

}  // namespace bench::chapter6
