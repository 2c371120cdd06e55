// Figures 6.2 and 6.5 show what travels to other members.
#include <fmt/core.h>

#include "bench/chapter6/figures.h"

namespace bench::chapter6 {

void storage_and_network(Suite& suite) {
  Table table{
      "", {"", "storage, dedup alone", "network, forward deltas", "network over storage", "forward deltas in zstd batches"}, {}};
  BarChart chart{"Network ratio over storage ratio (1: equal)", {}};
  double farthest = 0;
  for (const char* name : four) {
    const StoredSizes& sizes = suite.stored(name, Suite::Order::time, {.profile = "thesis", .block_compressor = "snappy"});
    const auto raw = static_cast<double>(sizes.log_raw_bytes);
    const double network = sizes.log_forward_bytes ? raw / static_cast<double>(sizes.log_forward_bytes) : 0;
    const double zstd = sizes.log_zstd_bytes ? raw / static_cast<double>(sizes.log_zstd_bytes) : 0;
    const double relative = sizes.dedup_ratio() > 0 ? network / sizes.dedup_ratio() : 0;
    farthest = std::max(farthest, std::abs(relative - 1));
    chart.bars.push_back({name, relative, 0, {}});
    table.rows.push_back({name, number_text(sizes.dedup_ratio()) + "x", number_text(network) + "x", number_text(relative),
                          number_text(zstd) + "x"});
  }
  Figure& figure = suite.figure("6.2", "Storage and network bandwidth savings, 64 B chunks");
  figure.charts.push_back(std::move(chart));
  figure.tables.push_back(std::move(table));
  figure.notes.push_back(
      "From a data directory of the thesis's profile: stored bytes before block compression, headers included, and what the "
      "log's forward deltas take.");
  suite.claim({"6.2", "The network ratio is within 5 % of the storage ratio",
               fmt::format("at most {:.0f} % apart", farthest * 100), farthest <= 0.05});
}

void limited_bandwidth(Suite& suite) {
  const StoredSizes& on = suite.stored("wiki", Suite::Order::time, {.profile = "thesis", .block_compressor = "snappy"});
  const StoredSizes& off = suite.stored("wiki", Suite::Order::time, {.dedup = false, .block_compressor = "snappy"});
  const auto records = static_cast<double>(suite.by_time("wiki").records.size());
  struct Line {
    const char* name;
    double rate, log_bytes;
  };
  const Line lines[] = {
      {"without dedup", records / off.load_seconds, static_cast<double>(off.logical_bytes) / records},
      {"with dedup", records / on.load_seconds, static_cast<double>(on.log_forward_bytes) / records},
      {"with dedup, zstd batches", records / on.load_seconds, static_cast<double>(on.log_zstd_bytes) / records},
  };
  Plot plot{"Inserts a second with the log shipped over a link of so many Mbit/s", "Mbit/s", "inserts/s", true, {}};
  double without_at_100 = 0, with_at_100 = 0;
  for (const Line& line : lines) {
    Series series{line.name, {}};
    for (const double mbit : {1., 2., 5., 10., 20., 50., 100., 200., 500., 1000., 2000., 5000.}) {
      const double rate = line.log_bytes > 0 ? std::min(line.rate, mbit * 1e6 / 8 / line.log_bytes) : 0;
      series.points.emplace_back(mbit, rate);
      if (mbit == 100. && &line == &lines[0]) without_at_100 = rate / line.rate;
      if (mbit == 100. && &line == &lines[1]) with_at_100 = rate / line.rate;
    }
    plot.series.push_back(std::move(series));
  }
  Figure& figure = suite.figure("6.5", "Insertion throughput under limited bandwidth");
  figure.plots.push_back(std::move(plot));
  figure.notes.push_back(
      fmt::format("Computed: the slower of the measured insert rate ({:.0f} a second without, {:.0f} with dedup, one connection "
                  "in process) and of the link, "
                  "with {:.0f} and {:.0f} bytes of log a record; synchronization every 1000 inserts hides a link that keeps up.",
                  lines[0].rate, lines[1].rate, lines[0].log_bytes, lines[1].log_bytes));
  suite.claim({"6.5", "With little bandwidth dedup keeps the full insert rate where the raw log throttles it",
               fmt::format("at 100 Mbit/s {:.0f} % of the full rate with dedup, {:.0f} % without", with_at_100 * 100,
                           without_at_100 * 100),
               with_at_100 > 2 * without_at_100 || without_at_100 >= 1});
}

}  // namespace bench::chapter6
