// A key string of one value tells the value where that is possible: an `_id` can be read from its key alone.
#pragma once

#include <optional>

#include "bson/document.h"

namespace bson {

// Returns {_id: value} for a number that a double or 64 bits hold, a string, ObjectId, date, binary data, boolean or null; the
// value may be another with the same key: 5 for NumberDecimal("5.0"). Returns nullopt for other types and other bytes.
std::optional<Document> id_of_key(BytesView key);

}  // namespace bson
