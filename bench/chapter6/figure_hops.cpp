// Figure 6.11 and Table 4.1 compare backward encoding, version jumping and hop encoding on chains of
// versions.
#include <fmt/core.h>

#include <cmath>

#include "bench/chapter6/figures.h"
#include "bench/chapter6/replay.h"
#include "datasets/synthetic/generator.h"
#include "datasets/synthetic/profile.h"

namespace bench::chapter6 {
namespace {

using Scheme = dedup::EncodingScheme;

struct Cost {
  uint64_t bytes = 0, raw_bytes = 0;
  uint64_t write_backs = 0;
  uint32_t retrievals_max = 0;
};

// Runs the thesis's encoder over a workload, with nothing left out.
Cost cost(const Workload& workload, Scheme scheme, uint32_t distance, Replay::Versions versions) {
  Options options = thesis();
  options.encoding = scheme;
  options.hop_distance = std::max(distance, 2u);
  options.size_filter_always = false;
  options.governor_window = 0;
  // A source that has a successor already must not fork the chain (§4.1.1).
  if (versions == Replay::Versions::declared) options.overlap = dedup::OverlapPolicy::keep, options.sources_tried = 4;
  Replay replay(options, versions);
  replay.run(workload);
  Cost cost;
  cost.bytes = replay.records().stored_bytes();
  cost.raw_bytes = replay.content_bytes();
  cost.write_backs = replay.write_backs();
  for (size_t i = 0; i < workload.records.size(); ++i)
    cost.retrievals_max = std::max(cost.retrievals_max, replay.records().hops(static_cast<int64_t>(i)));
  return cost;
}

// Makes a document and its edits: a small one a version, so that versions hundreds apart still resemble each other.
Workload one_chain(size_t versions) {
  datasets::Profile profile = *datasets::find_profile("wikipedia");
  profile.versions = 1e12;
  profile.record_bytes = 40'000;
  profile.change_bytes = 20;
  profile.changes = 1;
  datasets::SyntheticLoader loader(profile, versions, 1);
  Workload workload{"chain", "synthetic", false, {"revisions"}, {}};
  while (auto item = loader.next()) workload.records.push_back({Bytes(item->document.bytes()), 0, 1, 0, 0});
  return workload;
}

}  // namespace

void hop_distance(Suite& suite) {
  const Workload chain_200 = one_chain(200);
  const Workload& wiki = suite.tuning("wiki");
  const Cost backward = cost(wiki, Scheme::backward, 0, Replay::Versions::found);
  Series ratio[2] = {{"hop encoding", {}}, {"version jumping", {}}}, retrievals[2] = {ratio[0], ratio[1]},
         write_backs[2] = {ratio[0], ratio[1]};
  double hop_16 = 0, jump_16 = 0, worst_16 = 0;
  for (const uint32_t distance : {2u, 4u, 8u, 16u, 32u, 64u}) {
    int at = 0;
    for (const Scheme scheme : {Scheme::hop, Scheme::version_jumping}) {
      const Cost here = cost(wiki, scheme, distance, Replay::Versions::found),
                 of_200 = cost(chain_200, scheme, distance, Replay::Versions::declared);
      const double normalized = static_cast<double>(backward.bytes) / static_cast<double>(here.bytes);
      ratio[at].points.emplace_back(distance, normalized);
      retrievals[at].points.emplace_back(distance, of_200.retrievals_max);
      write_backs[at].points.emplace_back(distance, static_cast<double>(of_200.write_backs));
      if (distance == 16) (scheme == Scheme::hop ? hop_16 : jump_16) = normalized;
      if (distance == 16 && scheme == Scheme::hop) worst_16 = of_200.retrievals_max;
      ++at;
    }
  }
  Figure& figure = suite.figure("6.11", "Hop encoding and version jumping");
  figure.plots.push_back({"Compression ratio, normalized to backward encoding", "hop distance", "", true, {ratio[0], ratio[1]}});
  figure.plots.push_back(
      {"Most retrievals for one read, chain of 200", "hop distance", "", true, {retrievals[0], retrievals[1]}});
  figure.plots.push_back({"Write-backs, chain of 200", "hop distance", "", true, {write_backs[0], write_backs[1]}});
  figure.notes.push_back(
      fmt::format("{:.1f} MB of the wiki, {:.1f}x with backward encoding; the thesis's profile without the size filter.",
                  static_cast<double>(backward.raw_bytes) / 1e6,
                  static_cast<double>(backward.raw_bytes) / static_cast<double>(std::max<uint64_t>(backward.bytes, 1))));
  suite.claim({"6.11", "Hop encoding compresses within 10 % of backward encoding",
               fmt::format("{:.0f} % of it at distance 16", hop_16 * 100), hop_16 >= 0.9});
  suite.claim({"6.11", "Version jumping compresses 60 to 90 % less",
               fmt::format("{:.0f} % less at distance 16", (1 - jump_16) * 100), jump_16 <= 0.4});
  suite.claim({"6.11", "The most retrievals of hop encoding are close to version jumping's (distance 16: 16)",
               fmt::format("{:.0f} in a chain of 200", worst_16), worst_16 <= 16 + 4});
}

void encoding_schemes(Suite& suite) {
  constexpr size_t versions = 1000;
  const Workload chain = one_chain(versions);
  const auto n = static_cast<double>(versions);
  const Cost backward = cost(chain, Scheme::backward, 0, Replay::Versions::declared);
  const double base = static_cast<double>(chain.records.back().document.size());
  const double delta = (static_cast<double>(backward.bytes) - base) / (n - 1);
  Table table{
      fmt::format("A chain of {} versions: bases of {:.0f} B, deltas of {:.0f} B", versions, base, delta),
      {"", "H", "storage claimed, KB", "measured", "most retrievals claimed", "measured", "write-backs claimed", "measured"},
      {}};
  auto row = [&](const char* name, const std::string& distance, double storage, const Cost& is, double retrievals,
                 double write_backs) {
    table.rows.push_back({name, distance, number_text(storage / 1024), number_text(static_cast<double>(is.bytes) / 1024),
                          number_text(retrievals), std::to_string(is.retrievals_max), number_text(write_backs),
                          std::to_string(is.write_backs)});
  };
  row("backward", "-", base + (n - 1) * delta, backward, n, n);
  double claimed_16 = 0, measured_16 = 0;
  for (const uint32_t distance : {4u, 16u, 64u}) {
    const double h = distance;
    row("version jumping", std::to_string(distance), n / h * base + (n - n / h) * delta,
        cost(chain, Scheme::version_jumping, distance, Replay::Versions::declared), h, n - n / h);
    const Cost hop = cost(chain, Scheme::hop, distance, Replay::Versions::declared);
    const double claimed = h + std::log(n) / std::log(h);
    row("hop", std::to_string(distance), base + (n - 1) * delta, hop, claimed, n + n * h / ((h - 1) * (h - 1)));
    if (distance == 16) claimed_16 = claimed, measured_16 = hop.retrievals_max;
  }
  Figure& figure = suite.figure("T4.1", "Encoding schemes, claimed and measured");
  figure.tables.push_back(std::move(table));
  figure.notes.push_back("Without overlapped encodings, which fork chains and end every bound.");
  figure.notes.push_back(
      "Going up takes at most H-1 steps on every level, and as many down again to the newest: more than H + log_H N.");
  suite.claim({"T4.1",
               fmt::format("Hop encoding reads any of {} versions with at most H + log_H N = {:.1f} retrievals (H = 16)",
                           versions, claimed_16),
               fmt::format("{:.0f}", measured_16), measured_16 <= std::ceil(claimed_16)});
}

}  // namespace bench::chapter6
