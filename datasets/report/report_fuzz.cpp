// The input is two documents, one behind the other: a run's report, and a saved one beside it. Whatever they say, a text and a
// page are made of them.
#include "base/fuzz_target.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "datasets/report/report.h"

namespace {

bool run(base::BytesView input) {
  const auto report = bson::validate(input);
  if (!report.ok()) return false;
  const auto saved = bson::validate(input.substr(report.value().size()));
  if (!saved.ok()) return false;
  const bson::Document beside(saved.value());
  for (const bson::Document* other : {static_cast<const bson::Document*>(nullptr), &beside}) {
    base::check(!datasets::report::as_text(report.value(), other).empty());
    base::check(!datasets::report::as_html(report.value(), other).empty());
  }
  return true;
}

std::vector<base::Bytes> seeds() {
  const base::Bytes report =
      bson::json(
          "{source: 's', kind: 'boards', documents: 10, verified: 10, logicalBytes: 4096, fileBytes: 512, insertsPerSecond: 3.5, "
          "ratios: {dedup: 2.5}, load: {seconds: 75, checkpointSeconds: 1}, verification: {afterLoad: {differing: 0}}, "
          "dedup: {sourceCache: {hits: 3, misses: 1}}, decode: {reads: 4, hopsMean: 1.5, hops: {p50: 1, p99: 4}}, "
          "latency: {insert: {count: 2, p50Micros: 900, p99Micros: 12000}}, samples: [{seconds: 0, documents: 0}, "
          "{seconds: 1, documents: 10}]}")
          .bytes();
  return {report + report, report + bson::json("{}").bytes()};
}

const base::FuzzTarget target("report", run, seeds);

}  // namespace
