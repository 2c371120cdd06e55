// These functions make the keys of "2dsphere" and "2d" indexes: each cell of each location, with each value of the other fields.
#pragma once

#include <limits>
#include <vector>

#include "bson/value.h"
#include "storage/indexes/index.h"

namespace storage {

struct FieldValues {
  std::vector<bson::ValueView> values;  // elements of an array count as values; there is at least one
  bool array = false;                   // an array lay on the path
};
FieldValues field_values(const IndexField& field, bson::DocumentView document);

struct LocatedKey {
  Bytes bytes;
  std::vector<bson::Value> values;  // of each field
};

// Returns the keys in any order; a document without a location has none. Sets a bit of `multikey_fields` for each field with
// several values. Throws 16755 for a location that a "2dsphere" index can't have, 13027 and its like for a "2d" index, and
// CannotBuildIndexKeys (201) for a document that would have more than 100,000 keys, or whose keys would have more than
// `bytes_max`.
std::vector<LocatedKey> located_keys(const IndexSpec& spec, bson::DocumentView document, uint32_t& multikey_fields,
                                     size_t bytes_max = std::numeric_limits<size_t>::max());

}  // namespace storage
