// Names of stored things.
#pragma once

#include <compare>
#include <cstdint>

namespace storage {

// A record's place in its collection: assigned once, going up, never reused.
using RecordId = int64_t;
inline constexpr RecordId record_id_min = 1;
inline constexpr RecordId record_id_max = INT64_MAX;

// The number of a collection in its catalog: never reused, names its tables.
using CollectionId = uint32_t;

// When a write happened: seconds since 1970 in the upper half, a count within
// the second in the lower. Unique and increasing over the whole server; it is
// the `ts` of the write's oplog entry and, as a content's generation, its name.
using Stamp = uint64_t;

enum class Direction { forward, backward };

}  // namespace storage
