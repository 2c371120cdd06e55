// Adds palimpsest_op_latency_seconds: histograms of how long operations took, by kind.
#pragma once

#include "server/core/metrics.h"
#include "server/exporter/status_families.h"

namespace server::exporter {

void add_latencies(const Metrics& metrics, Families& families);

}  // namespace server::exporter
