// An OpTime is a place in the log: it says when and under which leader an entry was written.
#pragma once

#include <compare>

#include "bson/types.h"
#include "storage/engine/record_id.h"

namespace replication {

struct OpTime {
  storage::Stamp ts = 0;
  int64_t term = 1;
  auto operator<=>(const OpTime&) const = default;
};
// This optime is before the first one; MongoDB writes it so, too.
inline constexpr OpTime no_optime{0, -1};

inline bson::Timestamp timestamp_of(storage::Stamp stamp) {
  return {static_cast<uint32_t>(stamp >> 32), static_cast<uint32_t>(stamp)};
}
inline storage::Stamp stamp_of(bson::Timestamp timestamp) {
  return timestamp.packed();
}

}  // namespace replication
