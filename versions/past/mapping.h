// The log of the past is made of mappings.
//
// A snapshot is a moment in the order of timestamps. The first write after it that replaces a row's content leaves a mapping: the
// row, and the content that it had until then. A content's name is its generation, the timestamp of the write that made it, so a
// mapping also says since when the row had the content.
#pragma once

#include "storage/engine/record_id.h"

namespace versions::past {

using storage::RecordId;
using storage::Stamp;

// Numbers go up from 1, in the order in which snapshots were declared.
using SnapshotId = uint64_t;

struct Mapping {
  RecordId row = 0;
  Stamp content = 0;  // never 0 in a log
  bool operator==(const Mapping&) const = default;
};

}  // namespace versions::past
