#include "dedup/options.h"

#include <bit>

namespace dedup {

namespace {

constexpr uint32_t features_limit = 16;
constexpr uint32_t matches_limit = 8;
constexpr uint32_t sources_limit = 8;

}  // namespace

Options Options::of(Profile profile) {
  Options options;
  switch (profile) {
    case Profile::balanced:
      // A poor delta keeps less than block compression does with the whole content, costs reads, and is
      // mostly between strangers. Files of (wiki, mail, forum) at 60: 25.7, 4.0, 2.0 times smaller than what they
      // hold; at 25: 26.5, 4.2, 2.1; at 15: 26.5, 3.4, 2.1. Latest revisions left whole: 82, 95, 98 of 100.
      options.worth_percent = 25;
      // At 16 reads take twice the hops (wiki: p99 35, most 71; at 4: 14, 29), and files are 3 % smaller.
      options.hop_distance = 4;
      break;
    case Profile::thesis:
      options.sketch_method = SketchMethod::rabin_chunks;
      options.features_max = 8;
      options.content_bytes_min = 0;
      options.index_layout = IndexLayout::published;
      options.index_bytes_per_record = 0;
      options.matches_per_feature = 4;
      options.head_reward = 0;
      options.sources_tried = 1;
      options.overlap = OverlapPolicy::re_encode;
      options.delta_method = DeltaMethod::anchors;
      options.worth_percent = 100;
      options.demotion_depth_max = 0;
      options.governor_probe_contents = 0;
      options.size_filter_always = true;
      break;
    case Profile::archive:
      // Files of (wiki, mail, forum) at 12: 31, 5.4, 3.35 times smaller than what they hold; at 16: 32, -, 3.30; without
      // a limit: 31, 5.2, 2.85, for what is kept of every feature costs more than it finds.
      options.index_bytes_per_record = 16;
      options.matches_per_feature = 4;
      options.worth_percent = 25;  // at 75: 31.0, 4.95, 2.67
      options.hop_distance = 64;
      options.demotion_depth_max = 8;
      // Cold heads stay: wiki 33.6-34.6 times smaller without demoting, 32.5-33.2 with it at 25, 32.4 at 75. Before block
      // compression it saves 5.7 MB of 50.5 and 10 MB, but pages of 512 KB have found most of that already.
      options.demotion_worth_percent = 25;
      options.demote_lineages = true;
      break;
  }
  return options;
}

base::Result<Options> validate(const Options& options) {
  std::string wrong;
  const auto within = [&](const char* name, double value, double low, double high) {
    if (wrong.empty() && !(value >= low && value <= high))
      wrong = std::string(name) + " must be from " + std::to_string(static_cast<uint64_t>(low)) + " to " +
              std::to_string(static_cast<uint64_t>(high));
  };
  const auto power_of_two = [&](const char* name, uint32_t value) {
    if (wrong.empty() && !std::has_single_bit(value)) wrong = std::string(name) + " must be a power of two";
  };
  const auto bytes = [&](const char* name, size_t value, size_t low) {
    within(name, static_cast<double>(value), static_cast<double>(low), 1e13);
  };
  within("features_max", options.features_max, 1, features_limit);
  within("content_bytes_min", options.content_bytes_min, 0, 16 << 20);
  within("chunk_bytes", options.chunk_bytes, 16, 64 << 10);
  power_of_two("chunk_bytes", options.chunk_bytes);
  bytes("index_bytes_max", options.index_bytes_max, 4 << 10);
  if (options.index_bytes_per_record) within("index_bytes_per_record", options.index_bytes_per_record, 6, 1024);
  if (wrong.empty() && options.index_bytes_per_record && options.index_layout == IndexLayout::published)
    wrong = "index_bytes_per_record must be 0 with the published layout, which erases nothing";
  within("matches_per_feature", options.matches_per_feature, 1, matches_limit);
  bytes("metadata_cache_bytes", options.metadata_cache_bytes, 128 << 10);
  within("cache_reward", options.cache_reward, 0, 1000);
  within("head_reward", options.head_reward, 0, 1000);
  within("sources_tried", options.sources_tried, 1, sources_limit);
  within("anchor_interval", options.anchor_interval, 1, 4096);
  power_of_two("anchor_interval", options.anchor_interval);
  within("worth_percent", options.worth_percent, 1, 100);
  within("hop_distance", options.hop_distance, 2, 1 << 20);
  within("hop_levels_max", options.hop_levels_max, 1, 32);
  within("read_bytes_max", static_cast<double>(options.read_bytes_max), 1 << 20, 1 << 30);
  within("read_hops_max", options.read_hops_max, 16, 64 << 10);
  // The minimum is four times the maximum of the two above, so that contents written under any setting can be read under any
  // other. Documents have up to 16 MB, and a server adds some.
  within("decode_hops_max", options.decode_hops_max, 256 << 10, 16 << 20);
  within("decode_bytes_max", static_cast<double>(options.decode_bytes_max), 4.0 * (1 << 30), 1024.0 * (1 << 30));
  within("decode_content_bytes_max", static_cast<double>(options.decode_content_bytes_max), 17 << 20, 1 << 30);
  within("demotion_worth_percent", options.demotion_worth_percent, 1, 100);
  within("demotion_depth_max", options.demotion_depth_max, 0, 16);
  within("demote_after_secs", options.demote_after_secs, 0, 10 * 365 * 86400);
  bytes("source_cache_bytes", options.source_cache_bytes, 0);
  bytes("writeback_cache_bytes", options.writeback_cache_bytes, 0);
  bytes("hop_base_cache_bytes", options.hop_base_cache_bytes, 0);
  within("governor_ratio_min", options.governor_ratio_min, 1, 1000);
  if (options.governor_window)
    within("governor_probe_contents", static_cast<double>(options.governor_probe_contents), 0,
           static_cast<double>(options.governor_window));
  within("size_filter_percentile", options.size_filter_percentile, 0, 99);
  within("size_filter_refresh", options.size_filter_refresh, 1, 1'000'000);
  if (!wrong.empty()) return base::Failure{base::ErrorCode::bad_value, wrong};
  return options;
}

bool invalidates_index(const Options& before, const Options& after) {
  const bool chunks = before.sketch_method != SketchMethod::windows;
  return before.sketch_method != after.sketch_method || (chunks && before.chunk_bytes != after.chunk_bytes);
}

}  // namespace dedup
