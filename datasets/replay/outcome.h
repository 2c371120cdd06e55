// An outcome is what a replay found: the numbers that it counted and measured,
// and the document that they make, which is report.json.
//
//   documents verified logicalBytes dedupBytes fileBytes oplogBytes
//   indexBytesPerRecord insertsPerSecond        what is promised to be there
//   ratios oplog latency load verification …    the rest
//
// fileBytes counts every file of the data directory after a clean checkpoint,
// except the oplog's and the journal's, which oplogBytes and journalBytes
// count.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bson/document.h"
#include "datasets/replay/data_directory.h"
#include "datasets/replay/measured.h"
#include "datasets/replay/server_watch.h"
#include "datasets/replay/verify.h"

namespace datasets::replay {

struct Latency {
  uint64_t count = 0;
  double mean_us = 0;
  uint64_t p50_us = 0, p90_us = 0, p99_us = 0, p999_us = 0;
};

struct Outcome {
  std::string source, kind, order, trace, label;
  uint64_t documents = 0, replaced = 0, removed = 0, failed = 0;
  uint64_t logical_bytes = 0, text_bytes = 0;
  uint64_t reads = 0, documents_read = 0, reads_wrong = 0;
  Latency insert, read;
  double load_seconds = 0, client_cpu_seconds = 0, drain_seconds = 0, checkpoint_seconds = 0, compact_seconds = 0,
         restart_seconds = 0;
  std::vector<Sample> samples;
  uint64_t unknown_files = 0, problem_count = 0;
  std::vector<std::string> problems;
  std::optional<Verified> verified, verified_after_restart;
  bson::Document server_status, db_stats, build_info;
  bson::Document status_after_reading;          // serverStatus once more, when everything has been decoded
  uint64_t storage_bytes = 0, index_bytes = 0;  // collStats, summed
  std::optional<DataDirectory> files;

  void take(const Measured& measured);
  double inserts_per_second() const { return load_seconds > 0 ? static_cast<double>(documents) / load_seconds : 0; }
  bson::Document to_document() const;
};

}  // namespace datasets::replay
