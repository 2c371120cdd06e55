#include "server/core/latency_histogram.h"

#include <catch2/catch.hpp>

#include "base/random.h"
#include "bson/json.h"

namespace server {

TEST_CASE("latencies fall into the bucket whose bounds hold them") {
  CHECK(LatencyHistogram::lower_bound(0) == 0);
  CHECK(LatencyHistogram::lower_bound(1) == 2);
  CHECK(LatencyHistogram::lower_bound(11) == 2048);
  CHECK(LatencyHistogram::lower_bound(12) == 3072);
  CHECK(LatencyHistogram::lower_bound(13) == 4096);
  base::Random random(7);
  for (int i = 0; i < 10'000; ++i) {
    const auto us = static_cast<int64_t>(random() >> (24 + random.below(40)));
    const size_t bucket = LatencyHistogram::bucket_of(us);
    CHECK(LatencyHistogram::lower_bound(bucket) <= us);
    if (bucket + 1 < LatencyHistogram::buckets) CHECK(us < LatencyHistogram::lower_bound(bucket + 1));
  }
}

TEST_CASE("a histogram shows the buckets that have something") {
  LatencyHistogram histogram;
  for (const int64_t us : {0, 1, 5, 5000, 5001}) histogram.record(us);
  bson::Builder plain, full;
  histogram.append(plain, false);
  histogram.append(full, true);
  CHECK(bson::to_shell(plain.done()) == bson::to_shell(bson::json("{latency: {$numberLong: '10007'}, ops: {$numberLong: '5'}}")));
  CHECK(full.done().view()["histogram"].as_document().count() == 3);
}

}  // namespace server
