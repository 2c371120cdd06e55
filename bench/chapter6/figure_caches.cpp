// Figures 6.6 and 6.7 are about the source record cache, and the reward for being in it.
#include <fmt/core.h>

#include "bench/chapter6/figures.h"
#include "bench/chapter6/replay.h"

namespace bench::chapter6 {
namespace {

struct Cached {
  double hits = 0;  // hits among the sources wanted in the second half, when the cache is warm
  double ratio = 0;
};

Cached measure(const Workload& workload, size_t cache_bytes, uint32_t reward) {
  Options options = thesis();
  options.source_cache_bytes = cache_bytes;
  options.cache_reward = reward;
  Replay replay(options);
  dedup::EncoderStats half;
  for (size_t i = 0; i < workload.records.size(); ++i) {
    if (i == workload.records.size() / 2) half = replay.stats();
    replay.step(workload.records[i]);
  }
  const auto all = replay.stats();
  const auto hits = static_cast<double>(all.source_hits - half.source_hits),
             misses = static_cast<double>(all.source_fetches - half.source_fetches);
  return {hits + misses > 0 ? hits / (hits + misses) : 0, replay.ratio()};
}

}  // namespace

void source_cache_size(Suite& suite) {
  const Workload& workload = suite.tuning("wiki");
  Plot plot{"Sources found in the cache", "MB of cache", "% hits", true, {{"reward 2", {}}, {"reward 0", {}}}};
  double with = 0, without = 0;
  for (const size_t kb : {256, 512, 1024, 2048, 4096, 8192, 16384, 32768}) {
    for (const uint32_t reward : {2u, 0u}) {
      const Cached cached = measure(workload, kb << 10, reward);
      plot.series[reward ? 0 : 1].points.emplace_back(static_cast<double>(kb) / 1024, cached.hits * 100);
      if (kb == 8192) (reward ? with : without) = cached.hits;
    }
  }
  Figure& figure = suite.figure("6.6", "Source record cache size");
  figure.plots.push_back(std::move(plot));
  figure.notes.push_back(
      fmt::format("Steady state: the second half of {:.0f} MB of the wiki. The thesis has 20 GB, so that its 32 MB are a smaller "
                  "part than the same cache here.",
                  static_cast<double>(workload.bytes()) / 1e6));
  suite.claim({"6.6", "Preferring cached sources adds about 10 points of hits (75 % to 87 % at 32 MB)",
               fmt::format("at 8 MB {:.1f} % without, {:.1f} % with the reward", without * 100, with * 100),
               with - without >= 0.05});
}

void reward_score(Suite& suite) {
  const Workload& workload = suite.tuning("wiki");
  constexpr size_t cache_bytes = 8 << 20;
  const Cached none = measure(workload, 0, 0);
  Series ratio{"compression, % of that without a cache", {}}, misses{"% of sources read from the database", {}};
  Table table{"", {"reward", "compression ratio", "normalized", "% of sources read"}, {}};
  table.rows.push_back({"no cache", number_text(none.ratio) + "x", "1", number_text((1 - none.hits) * 100)});
  double miss_0 = 0, miss_2 = 0, ratio_2 = 0;
  for (const uint32_t reward : {0u, 1u, 2u, 4u, 8u}) {
    const Cached cached = measure(workload, cache_bytes, reward);
    ratio.points.emplace_back(reward, cached.ratio / none.ratio * 100);
    misses.points.emplace_back(reward, (1 - cached.hits) * 100);
    table.rows.push_back({std::to_string(reward), number_text(cached.ratio) + "x", number_text(cached.ratio / none.ratio),
                          number_text((1 - cached.hits) * 100)});
    if (reward == 0) miss_0 = 1 - cached.hits;
    if (reward == 2) miss_2 = 1 - cached.hits, ratio_2 = cached.ratio / none.ratio;
  }
  Figure& figure = suite.figure("6.7", "Reward score, with 8 MB of cache");
  figure.plots.push_back({"Compression and misses", "reward", "%", false, {std::move(ratio), std::move(misses)}});
  figure.tables.push_back(std::move(table));
  const double cut = miss_0 > 0 ? 1 - miss_2 / miss_0 : 0;
  suite.claim({"6.7", "A reward of 2 cuts the misses by 40 % and does not reduce the compression noticeably",
               fmt::format("misses from {:.1f} % to {:.1f} %, compression {:.1f} % of that without a cache", miss_0 * 100,
                           miss_2 * 100, ratio_2 * 100),
               cut >= 0.3 && ratio_2 >= 0.97});
}

}  // namespace bench::chapter6
