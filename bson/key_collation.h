// These functions turn the key string of a value into the one that it has under a collation, without the value.
//
// Sort keys take the place of the strings, within objects and arrays too; every other byte stays. So two values whose strings a
// collation takes for the same have the same result.
#pragma once

#include <optional>

#include "bson/collator.h"

namespace bson {

// `key` is what KeyString::append wrote for one value, ascending and without a collation. nullopt: it is no such key.
std::optional<Bytes> collated_key(BytesView key, const Collator& collator);

}  // namespace bson
