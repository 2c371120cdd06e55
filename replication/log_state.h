// The row of the oplog that says what the log is: which collection, and how much is in its stretches (docs/formats/oplog.md).
#pragma once

#include <deque>

#include "base/result.h"
#include "bson/document.h"
#include "storage/engine/record_id.h"

namespace replication {

// A stretch of the log: what is counted, and taken away, as one.
struct LogStep {
  storage::Stamp end = 0;  // its last entry
  int64_t entries = 0;
  int64_t logical_bytes = 0;
  int64_t stored_bytes = 0;
  bool operator==(const LogStep&) const = default;
};

struct LogState {
  base::Bytes uuid;  // 16 bytes
  storage::Stamp counted_to = 0;
  std::deque<LogStep> steps;  // oldest first
};

bson::Document encode_state(const LogState& state);
// Fails with DataCorruptionDetected.
base::Result<LogState> decode_state(base::BytesView row);

}  // namespace replication
