// A hashed key is the 64 bits that MongoDB's hashed indexes and shard keys keep for a value: $toHashedIndexKey.
//
// It is the first 8 bytes of the MD5 over a canonical form of the value:
//
//   seed (0)    int32
//   type's rank int32, then
//     a number      its whole part as int64, NaN as 0: 3, 3.7 and NumberLong(3) have one hash
//     object, array each field: rank, name with its NUL, value; then the end as a field of rank 0
//     code          the code; with a scope, the scope's fields as of an object
//     others        the value's bytes as they stand in BSON
#pragma once

#include "bson/document.h"

namespace bson {

int64_t hashed_key(const ValueView& value);

}  // namespace bson
