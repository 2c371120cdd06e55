#include "server/exporter/latency_families.h"

#include <limits>

namespace server::exporter {
namespace {

constexpr double us_per_second = 1e6;

prometheus::ClientMetric::Histogram histogram_of(const Metrics::Latency& latency) {
  prometheus::ClientMetric::Histogram out;
  uint64_t below = 0;
  for (size_t i = 0; i < LatencyHistogram::buckets; ++i) {
    below += static_cast<uint64_t>(latency.buckets[i].get());
    const bool last = i + 1 == LatencyHistogram::buckets;
    out.bucket.push_back({below, last ? std::numeric_limits<double>::infinity()
                                      : static_cast<double>(LatencyHistogram::lower_bound(i + 1)) / us_per_second});
  }
  out.sample_count = below;  // others record meanwhile, and the buckets must add up
  out.sample_sum = static_cast<double>(latency.us.sum()) / us_per_second;
  return out;
}

}  // namespace

void add_latencies(const Metrics& metrics, Families& families) {
  static constexpr std::pair<const char*, Metrics::Latency Metrics::*> kinds[] = {{"read", &Metrics::reads},
                                                                                  {"write", &Metrics::writes},
                                                                                  {"command", &Metrics::commands},
                                                                                  {"transaction", &Metrics::transactions}};
  for (const auto& [name, latency] : kinds) {
    families.add("palimpsest_op_latency_seconds", "How long operations took on the server", {{"type", name}},
                 histogram_of(metrics.*latency));
  }
}

}  // namespace server::exporter
