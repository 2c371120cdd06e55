// These structs hold what the background counts, and what waits for it (serverStatus().dedup).
#pragma once

#include <map>
#include <string>

#include "dedup/encoder.h"
#include "storage/background/log_estimate.h"
#include "storage/background/write_back_flusher.h"

namespace storage {

struct DedupFigures {
  struct Database {  // These figures sum up all profiles of the database.
    dedup::EncoderStats encoder;
    LogFigures log;
    int64_t rebuild_ms = 0;
  };
  std::map<std::string, Database> databases;
  WriteBackFigures write_back;
  size_t write_back_records = 0, write_back_bytes = 0, write_back_in_hand = 0;
  uint64_t write_back_discarded = 0, write_back_discarded_bytes = 0;
  uint64_t spliced = 0;
  uint64_t swept_rows = 0;     // The sweep looked at these rows for dead contents.
  uint64_t caught_up = 0;      // These records were read back to be encoded.
  uint64_t successors = 0;     // After these updates the old content stays, as a delta of the new one.
  uint64_t cut = 0;            // These write-backs were left out so that reads stay short.
  uint64_t rested_micros = 0;  // The thread rested for this long because others wanted the CPU.
  uint64_t packed_records = 0;
  uint64_t compactions = 0;
  uint64_t cpu_micros = 0;  // This is the CPU time of the background's thread.
};

struct QueueFigures {
  size_t records = 0, bytes = 0;
  uint64_t dropped = 0, refused = 0;
  size_t behind = 0;  // These collections are read through, because the queue couldn't name all that was written to them.
};

// Adds the counts of one encoder to a sum. The sum is enabled only when every encoder is; its governor state is then the disabled
// one's.
void add(dedup::EncoderStats& sum, const dedup::EncoderStats& one);

}  // namespace storage
