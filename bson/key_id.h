// What a key string of one value says, where it can be told: who has an `_id` by its key alone.
#pragma once

#include <optional>

#include "bson/document.h"

namespace bson {

// {_id: value} of a number that a double or 64 bits hold, a string, an ObjectId, a date, binary data, a boolean or null, as one
// whose key is the same: 5 for NumberDecimal("5.0"). nullopt: of another type, or no key string of one value.
std::optional<Document> id_of_key(BytesView key);

}  // namespace bson
