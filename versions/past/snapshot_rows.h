// The rows of the list of declared snapshots (docs/formats/past.md).
//
//   past-snapshots   number (8, BE) -> {stamp, time, name}     without `name`: it has none; with {dropped: true}: it was dropped
//                    00             -> {next, newest}          the next number, and the timestamp of the newest one there ever
//                    was
#pragma once

#include "base/bytes.h"
#include "bson/document.h"
#include "versions/past/snapshots.h"

namespace versions::past {

inline const base::Bytes next_snapshot_key(1, '\0');
base::Bytes snapshot_key(uint64_t number);

struct SnapshotRow {
  DeclaredSnapshot snapshot;
  bool dropped = false;
};
struct NextSnapshotRow {
  uint64_t next = 1;
  Stamp newest = 0;
};

// Those that read throw DataCorruptionDetected.
bson::Document write_snapshot_row(const SnapshotRow& row);
SnapshotRow read_snapshot_row(base::BytesView key, base::BytesView value);
bson::Document write_next_snapshot(const NextSnapshotRow& row);
NextSnapshotRow read_next_snapshot(base::BytesView value);

}  // namespace versions::past
