// Figure 6.4 shows where the time of dedup goes.
#include <fmt/core.h>

#include "bench/chapter6/figures.h"
#include "bench/chapter6/replay.h"
#include "bench/measure/cpu_clock.h"
#include "dedup/sketch.h"

namespace bench::chapter6 {
namespace {

struct Steps {
  double sketch = 0, lookup = 0, fetch = 0, delta = 0;
  double all() const { return sketch + lookup + fetch + delta; }
};

// The encoder does everything in one call. So sketches and deltas are made a second time and timed apart, sources are timed where
// they are fetched, and the rest is looking up and choosing.
Steps measure(const Workload& workload, const Options& options) {
  Replay replay(options);
  const dedup::Sketcher sketcher(options, 1);
  const dedup::DeltaOptions delta{.method = options.delta_method, .anchor_interval = options.anchor_interval};
  Steps steps;
  for (const Record& record : workload.records) {
    const Encoding& encoding = replay.step(record);
    const CpuWatch sketching;
    const auto features = sketcher.sketch(record.collection, record.document);
    steps.sketch += sketching.seconds();
    const CpuWatch encoding_deltas;
    auto content = [&](const dedup::ContentId& id) {
      return BytesView(workload.records[static_cast<size_t>(id.record)].document);
    };
    if (encoding.source) (void)dedup::encode_two_way(content(*encoding.source), record.document, delta);
    for (const auto& backward : encoding.write_backs) {
      if (encoding.source && backward.target == *encoding.source) continue;
      (void)dedup::encode(content(backward.base), content(backward.target), delta);
    }
    if (!features.empty()) steps.delta += encoding_deltas.seconds();
  }
  steps.fetch = replay.records().fetch_cpu_seconds();
  steps.lookup = std::max(0.0, replay.encode_cpu_seconds() - steps.sketch - steps.fetch - steps.delta);
  return steps;
}

}  // namespace

void time_breakdown(Suite& suite) {
  const Workload workload = suite.tuning("wiki").sample(suite.settings.tuning_bytes_max / 4);
  struct Kind {
    const char* name;
    Options options;
  };
  Kind kinds[] = {{"no optimization", thesis()},
                  {"+ sampling 1/32", thesis()},
                  {"+ source cache", thesis()},
                  {"balanced", Options::of(Profile::balanced)}};
  for (Kind& kind : kinds) kind.options.governor_window = 0;
  for (Kind* kind : {&kinds[0], &kinds[1]}) kind->options.source_cache_bytes = 0;
  kinds[0].options.anchor_interval = 1;
  kinds[1].options.anchor_interval = kinds[2].options.anchor_interval = 32;

  BarChart chart{"CPU seconds, delta compression dark", {}};
  Table table{"CPU seconds", {"", "sketch", "lookup and selection", "fetching sources", "delta compression", "all", "MB/s"}, {}};
  std::vector<Steps> measured;
  for (const Kind& kind : kinds) {
    const Steps steps = measured.emplace_back(measure(workload, kind.options));
    suite.say(fmt::format("{}: {:.2f} CPU seconds", kind.name, steps.all()));
    chart.bars.push_back({kind.name, steps.all(), steps.delta, {}});
    table.rows.push_back({kind.name, number_text(steps.sketch), number_text(steps.lookup), number_text(steps.fetch),
                          number_text(steps.delta), number_text(steps.all()),
                          number_text(static_cast<double>(workload.bytes()) / 1e6 / steps.all())});
  }
  Figure& figure = suite.figure("6.4", "Deduplication time breakdown");
  figure.charts.push_back(std::move(chart));
  figure.tables.push_back(std::move(table));
  figure.notes.push_back(
      "CPU time of one thread. Sources that are not cached are decoded from memory: the thesis's reads them from a disk, so its "
      "share of fetching is larger.");
  const double less_delta = 1 - measured[1].delta / std::max(measured[0].delta, 1e-9),
               less_fetch = 1 - measured[2].fetch / std::max(measured[1].fetch, 1e-9);
  suite.claim({"6.4", "Sampling 1/32 of the offsets takes 95 % off the time of delta compression",
               fmt::format("{:.0f} % off", less_delta * 100), less_delta >= 0.9});
  suite.claim({"6.4", "A source cache of 32 MB takes about 87 % off the time of fetching sources",
               fmt::format("{:.0f} % off", less_fetch * 100), less_fetch >= 0.8});
}

}  // namespace bench::chapter6
