// Figures 6.10 and 6.12 are about sketch size and anchor interval.
#include <fmt/core.h>

#include "bench/chapter6/figures.h"
#include "bench/chapter6/pairs.h"
#include "bench/chapter6/replay.h"
#include "bench/measure/cpu_clock.h"
#include "bench/peers/deltas.h"

namespace bench::chapter6 {

void sketch_size(Suite& suite) {
  const Workload& workload = suite.tuning("wiki");
  Plot plot{"Compression ratio by features a record", "features (K)", "ratio", true, {}};
  double best_4k = 0, k4 = 0, k8 = 0, k16 = 0;
  for (const uint32_t chunk : {64u, 256u, 1024u, 4096u}) {
    Series series{chunk < 1024 ? fmt::format("{} B chunks", chunk) : fmt::format("{} KB chunks", chunk / 1024), {}};
    for (const uint32_t features : {1u, 2u, 4u, 8u, 16u}) {
      Options options = thesis(chunk);
      options.features_max = features;
      Replay replay(options);
      replay.run(workload);
      series.points.emplace_back(features, replay.ratio());
      if (chunk == 64) (features == 4 ? k4 : features == 8 ? k8 : k16) = replay.ratio();
      if (chunk == 4096) best_4k = std::max(best_4k, replay.ratio());
    }
    suite.say(series.name);
    plot.series.push_back(std::move(series));
  }
  suite.figure("6.10", "Sketch size").plots.push_back(std::move(plot));
  suite.claim({"6.10", "4 to 8 features are enough: 16 add little",
               fmt::format("64 B chunks: {:.1f}x with 4, {:.1f}x with 8, {:.1f}x with 16", k4, k8, k16), k16 <= k8 * 1.05});
  suite.claim({"6.10", "Chunks of 4 KB do not work well, however many features",
               fmt::format("{:.1f}x at best with 4 KB, {:.1f}x with 64 B and 8 features", best_4k, k8), best_4k < 0.8 * k8});
}

namespace {

struct Speed {
  double ratio = 0, mb_per_second = 0;
};

template <class Encode>
Speed measure(const std::vector<Pair>& pairs, Encode encode) {
  uint64_t delta_bytes = 0;
  const double seconds = least_cpu_seconds(3, [&] {
    delta_bytes = 0;
    for (const Pair& pair : pairs) delta_bytes += encode(pair);
  });
  const auto bytes = static_cast<double>(bytes_of(pairs));
  return {delta_bytes ? bytes / static_cast<double>(delta_bytes) : 0, seconds > 0 ? bytes / 1e6 / seconds : 0};
}

Speed anchors(const std::vector<Pair>& pairs, uint32_t interval) {
  const dedup::DeltaOptions options{.method = dedup::DeltaMethod::anchors, .anchor_interval = interval};
  return measure(pairs, [&](const Pair& pair) {
    const auto delta = dedup::encode(pair.before, pair.after, options);
    return delta ? delta->size() : pair.after.size();
  });
}

}  // namespace

void anchor_interval(Suite& suite) {
  const auto some = pairs(suite.tuning("wiki"), 1 << 10, 1 << 20, 1500);
  Series ratio{"dbDedup", {}}, speed{"dbDedup", {}};
  Table table{"Against the true predecessor", {"", "ratio", "MB/s"}, {}};
  auto row = [&](const std::string& name, const Speed& s) {
    table.rows.push_back({name, number_text(s.ratio) + "x", number_text(s.mb_per_second)});
  };
  const Speed xdelta = measure(some, [](const Pair& pair) { return xdelta3_delta(pair.before, pair.after).size(); });
  row("xdelta3", xdelta);
  Speed at_16, at_64, at_128;
  for (const uint32_t interval : {16u, 32u, 64u, 128u}) {
    const Speed s = anchors(some, interval);
    ratio.points.emplace_back(interval, s.ratio);
    speed.points.emplace_back(interval, s.mb_per_second);
    row(fmt::format("dbDedup, anchors every {}", interval), s);
    if (interval == 16) at_16 = s;
    if (interval == 64) at_64 = s;
    if (interval == 128) at_128 = s;
  }
  row("balanced", measure(some, [](const Pair& pair) {
        const auto delta = dedup::encode(pair.before, pair.after);
        return delta ? delta->size() : pair.after.size();
      }));
  row("zstd -1 refPrefix", measure(some, [](const Pair& pair) { return zstd_delta_1(pair.before, pair.after).size(); }));
  row("zstd -3 refPrefix", measure(some, [](const Pair& pair) { return zstd_delta_3(pair.before, pair.after).size(); }));

  auto flat = [&](const char* name, double value) { return Series{name, {{16, value}, {128, value}}}; };
  Figure& figure = suite.figure("6.12", "Anchor interval, beside xdelta3 as a library");
  figure.plots.push_back(
      {"Compression ratio", "anchor interval", "ratio", true, {std::move(ratio), flat("xdelta3", xdelta.ratio)}});
  figure.plots.push_back(
      {"Throughput", "anchor interval", "MB/s of target", true, {std::move(speed), flat("xdelta3", xdelta.mb_per_second)}});
  figure.tables.push_back(std::move(table));
  figure.notes.push_back(
      fmt::format("{} revisions against their predecessors, one thread's CPU time, the best of three.", some.size()));
  const double faster = xdelta.mb_per_second > 0 ? at_64.mb_per_second / xdelta.mb_per_second - 1 : 0,
               loss_64 = xdelta.ratio > 0 ? 1 - at_64.ratio / xdelta.ratio : 0;
  suite.claim({"6.12", "With anchors every 16 it does almost what xdelta does",
               fmt::format("{:.1f}x at {:.0f} MB/s; xdelta3 {:.1f}x at {:.0f} MB/s", at_16.ratio, at_16.mb_per_second,
                           xdelta.ratio, xdelta.mb_per_second),
               std::abs(at_16.ratio / std::max(xdelta.ratio, 1e-9) - 1) < 0.1});
  suite.claim({"6.12", "With anchors every 64 it is 80 % faster than xdelta and loses 7 % of the compression",
               fmt::format("{:.0f} % faster, {:.0f} % lost", faster * 100, loss_64 * 100), faster >= 0.6 && loss_64 <= 0.1});
  suite.claim({"6.12", "Every 128 is 10 % faster still and loses 15 %",
               fmt::format("{:.0f} % faster than every 64, {:.0f} % lost",
                           (at_128.mb_per_second / std::max(at_64.mb_per_second, 1e-9) - 1) * 100,
                           (1 - at_128.ratio / std::max(xdelta.ratio, 1e-9)) * 100),
               at_128.mb_per_second > at_64.mb_per_second && at_128.ratio < at_64.ratio});
}

}  // namespace bench::chapter6
