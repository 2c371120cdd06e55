// This is the main job: it loads a source into a server, waits until its background work is done, reads everything back, and
// reports what that cost.
//
//   load -> drain the dedup queue -> checkpoint -> compact -> checkpoint
//        -> measure -> verify [-> restart -> verify]
#pragma once

#include <optional>
#include <string>

#include "bson/document.h"
#include "datasets/replay/writer.h"
#include "datasets/source.h"

namespace datasets::replay {

struct ReplayOptions {
  datasets::SourceOptions source;
  datasets::Problems::Policy on_error = datasets::Problems::Policy::skip;
  WriterOptions writer;
  uint64_t limit = UINT64_MAX;  // items to load
  uint64_t populate = 10'000;   // revisions before a wiki trace begins
  uint64_t operations = 0;      // of a trace; 0: until the data ends, for wiki 100,000
  uint64_t seed = 1;            // of a trace's choices
  bool drop = false;            // the database first
  bool version_keys = true;     // create collections with the key that their versions share
  bool verify = true;
  bool compact = true;
  bool quiet = false;
  double settle_seconds = 600;  // for the dedup queue, at most
  std::string dbpath;           // of the server, to measure its files; empty: not measured
  std::string restart_command;  // empty: no restart
  std::string acknowledged_log;
  std::string label;
};

// Returns the report (outcome.h lists its fields). Throws ClientError, InputError.
bson::Document run(const ReplayOptions& options);

// Reads and builds everything and sends nothing, which measures the client alone.
bson::Document dry_run(const ReplayOptions& options);

}  // namespace datasets::replay
