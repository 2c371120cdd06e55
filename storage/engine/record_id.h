// These types name stored things.
#pragma once

#include <compare>
#include <cstdint>

namespace storage {

// A RecordId is a record's place in its collection. It is assigned once and never reused, and the numbers go up.
using RecordId = int64_t;
inline constexpr RecordId record_id_min = 1;
inline constexpr RecordId record_id_max = INT64_MAX;

// A CollectionId is the number of a collection in its catalog. It is never reused, and the names of the collection's tables
// contain it.
using CollectionId = uint32_t;

// A Stamp is the timestamp of a write: seconds since 1970 in the upper half, a count within the second in the lower half. It is
// unique and goes up over the whole server. It is the `ts` of the write's oplog entry, and it names a content as its generation.
using Stamp = uint64_t;
// A transaction that is never committed has timestamps of its own, above all others (Transaction::Mode::draft).
inline constexpr Stamp first_draft_stamp = Stamp{1} << 63;
inline bool is_draft(Stamp stamp) {
  return stamp >= first_draft_stamp;
}

enum class Direction { forward, backward };

}  // namespace storage
